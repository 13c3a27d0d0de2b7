"""The memory for programs built on other libraries; each needs only the library it is for."""
