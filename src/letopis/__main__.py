"""`python -m letopis`."""

from letopis.cli.main import main

main()
