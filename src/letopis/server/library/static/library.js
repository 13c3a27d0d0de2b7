// What every page does: forms that send JSON with the version they change, questions before what
// cannot be taken back, undo, and parts that are loaded when they are needed.

const words = document.getElementById("library-words").dataset;
const KEPT = "letopis-notice";

/** Ask the server; returns the answer's status, JSON (or null) and headers. */
export async function ask(method, url, body, etag) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (etag) headers["If-Match"] = etag;
  const answer = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  let json = null;
  try { json = JSON.parse(text); } catch { /* a page, or nothing */ }
  return { ok: answer.ok, status: answer.status, json, etag: answer.headers.get("ETag") };
}

/** A line at the foot of the page; with an event of the facts it offers to take that back. */
export function tell(text, event, link) {
  const line = document.createElement("div");
  line.append(Object.assign(document.createElement("span"), { textContent: text }));
  if (event) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: words.undo });
    button.addEventListener("click", () => undo(event));
    line.append(button);
  }
  if (link) line.append(Object.assign(document.createElement("a"), { href: link[0], textContent: link[1], target: "_blank", rel: "noopener" }));
  document.getElementById("notices").replaceChildren(line);
  setTimeout(() => line.remove(), event ? 20000 : 7000);
}

async function undo(event) {
  const answer = await attempt("POST", "/api/facts/undo", { event });
  if (answer) leave("", words.undone);
}

/** Ask, and say what went wrong; null where it did. */
export async function attempt(method, url, body, etag) {
  try {
    const answer = await ask(method, url, body, etag);
    if (answer.ok) return answer;
    tell(words.failed + (answer.json?.detail ?? answer.status));
  } catch { tell(words.unreachable); }
  return null;
}

/** Go to a page, or load this one again, and say there what was done. */
function leave(address, text, event) {
  if (text) sessionStorage.setItem(KEPT, JSON.stringify({ text, event }));
  if (!address || new URL(address, location.href).pathname === location.pathname) {
    if (address) history.replaceState(null, "", address);
    location.reload();
  } else location.assign(address);
}

/** A question before something that cannot be taken back; true where the person says yes. */
function sure(text) {
  const box = document.createElement("dialog");
  const told = Object.assign(document.createElement("p"), { textContent: text, id: "question" });
  told.style.whiteSpace = "pre-line";
  box.setAttribute("aria-labelledby", "question");
  const yes = Object.assign(document.createElement("button"), { type: "button", textContent: words.yes });
  const no = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: words.no });
  const row = Object.assign(document.createElement("div"), { className: "actions" });
  row.append(no, yes);
  box.append(told, row);
  document.body.append(box);
  return new Promise((resolve) => {
    yes.addEventListener("click", () => box.close("yes"));
    no.addEventListener("click", () => box.close());
    box.addEventListener("close", () => { resolve(box.returnValue === "yes"); box.remove(); });
    box.showModal();
    no.focus();
  });
}

let saved = false;

async function send(form) {
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  try { await sent(form); } finally { delete form.dataset.busy; }
}

async function sent(form) {
  const { send: method, url, etag, ask: question, then, done, undo: undoable } = form.dataset;
  if (question && !(await sure(question))) return;
  const fields = [...new FormData(form).entries()];
  const body = method === "DELETE" ? undefined : Object.fromEntries(fields);
  let answer;
  try { answer = await ask(method, url, body, etag); } catch { tell(words.unreachable); return; }
  if (answer.status === 412 && method === "DELETE") { leave("", words.kept); return; }
  if (answer.status === 412) { await differs(form); return; }
  if (answer.status === 401 && words.closed) { tell(words.closed, null, ["/library/enter", words.door]); return; }
  if (!answer.ok) { tell(words.failed + (answer.json?.detail ?? answer.status)); return; }
  saved = true;
  leave(then ?? "", done ?? words.done, undoable !== undefined ? answer.json?.event : undefined);
}

/** Somebody else changed it: show how it stands now, keep what was typed, and let the person put it together. */
async function differs(form) {
  const now = await attempt("GET", form.dataset.url);
  if (!now) return;
  form.dataset.etag = now.etag;
  form.querySelector(".differs")?.remove();
  const part = Object.assign(document.createElement("div"), { className: "notice differs" });
  part.setAttribute("role", "alert");
  const head = Object.assign(document.createElement("p"), { textContent: words.changed });
  const label = Object.assign(document.createElement("strong"), { textContent: words.now });
  const text = Object.assign(document.createElement("pre"), { textContent: now.json.text, className: "text" });
  part.append(head, label, text);
  form.prepend(part);
}

document.addEventListener("submit", (event) => {
  if (event.target.dataset.send) { event.preventDefault(); send(event.target); }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-toggle]");
  if (!button) return;
  const part = document.getElementById(button.dataset.toggle);
  part.hidden = !part.hidden;
  document.querySelectorAll(`[data-toggle="${button.dataset.toggle}"][aria-expanded]`).forEach((one) => one.setAttribute("aria-expanded", String(!part.hidden)));
  if (!part.hidden) part.querySelector("textarea, input:not([type=hidden])")?.focus();
  else {
    part.matches("form") ? part.reset() : part.querySelector("form")?.reset();
    document.querySelector(`[data-toggle="${button.dataset.toggle}"][aria-expanded]`)?.focus();
  }
});

document.addEventListener("keydown", (event) => {
  const form = event.key === "Escape" && event.target.closest("[id]:is(form[data-send], section:has(> form[data-send]))");
  if (form) document.querySelector(`[data-toggle="${form.id}"][aria-expanded="true"]`)?.click();
});

addEventListener("beforeunload", (event) => {
  const typed = [...document.querySelectorAll("form[data-send] textarea")].some((box) => box.offsetParent && box.value !== box.defaultValue);
  if (typed && !saved) event.preventDefault();
});

document.addEventListener("change", (event) => {
  if (event.target.closest("[data-go]")) event.target.form.requestSubmit();
});

document.querySelectorAll("[data-load]").forEach(async (part) => {
  try {
    const answer = await fetch(part.dataset.load);
    if (answer.ok) part.innerHTML = await answer.text();
  } catch { /* it stays as it is, with its own words */ }
  part.removeAttribute("aria-busy");
});

document.querySelectorAll("[data-slide]").forEach((slider) => {
  const days = slider.dataset.slide.split(" ");
  const shown = document.getElementById(slider.dataset.shown);
  const names = shown.dataset.names.split("|");
  slider.addEventListener("input", () => {
    shown.textContent = names[slider.value];
    slider.setAttribute("aria-valuetext", names[slider.value]);
  });
  if (sessionStorage.getItem("letopis-slider")) slider.focus({ preventScroll: true });
  sessionStorage.removeItem("letopis-slider");
  let going = 0;
  slider.addEventListener("change", () => { clearTimeout(going); going = setTimeout(go, 500); });
  const go = () => {
    sessionStorage.setItem("letopis-slider", "focus");
    const address = new URL(location.href);
    if (Number(slider.value) === days.length - 1) address.searchParams.delete("as_of");
    else address.searchParams.set("as_of", days[slider.value]);
    location.assign(address);
  };
});

document.querySelectorAll("[data-events]").forEach((part) => {
  const source = new EventSource("/api/events");
  const names = part.dataset;
  source.addEventListener("step", (event) => {
    const { step } = JSON.parse(event.data);
    part.textContent = step === "waiting" ? names.waiting : names.other;
  });
  addEventListener("pagehide", () => source.close());
});

document.querySelector(".places [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });

const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
sessionStorage.removeItem(KEPT);
if (kept) tell(kept.text, kept.event);
