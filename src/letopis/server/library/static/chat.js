// The chat: sends what is said, shows the answer as it comes, and beside it what memory was used.
import { attempt, tell } from "./library.js";

const talk = document.getElementById("talk"), form = document.getElementById("ask"), say = document.getElementById("say");
const steps = document.getElementById("steps");
const tools = document.getElementById("tools").content;

function bubble(role, text, label) {
  talk.querySelector(".empty")?.remove();
  const box = Object.assign(document.createElement("div"), { className: `bubble ${role}` });
  const who = Object.assign(document.createElement("span"), { className: "visually-hidden", textContent: label });
  const said = Object.assign(document.createElement("span"), { textContent: text });
  box.append(who, said);
  talk.append(box);
  box.scrollIntoView({ block: "end" });
  return said;
}

/** The events of a stream: name and data of each. */
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    let end;
    while ((end = held.indexOf("\n\n")) >= 0) {
      const lines = held.slice(0, end).split("\n");
      held = held.slice(end + 2);
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (name && data) yield [name, JSON.parse(data)];
    }
  }
}

function step(name, data) {
  const line = document.createElement("li");
  const title = tools.querySelector(`[data-name="${CSS.escape(data.name)}"]`)?.textContent ?? data.name;
  line.append(Object.assign(document.createElement("span"), { textContent: title }));
  const asked = data.arguments && typeof data.arguments === "object" ? Object.values(data.arguments).filter((one) => typeof one === "string").join(", ") : "";
  if (asked) line.append(Object.assign(document.createElement("div"), { className: "meta", textContent: asked.slice(0, 200) }));
  steps.append(line);
}

/** Where the things stand that a tool has found. */
function found(data) {
  const last = steps.lastElementChild;
  if (!last) return;
  for (const hit of (data.result?.hits ?? data.result?.lines ?? []).slice(0, 5)) {
    const [session, n] = String(hit.source ?? "").split("#");
    const text = String(hit.text ?? "").slice(0, 90);
    const line = document.createElement("div");
    line.className = "meta";
    if (session && /^\d+$/.test(n ?? "")) {
      line.append(Object.assign(document.createElement("a"), { href: `/library/sessions/${encodeURIComponent(session)}?n=${n}#m${n}`, textContent: text }));
    } else line.textContent = text;
    last.append(line);
  }
}

async function answer(text) {
  bubble("user", text, form.dataset.you);
  const place = bubble("assistant", "", form.dataset.it);
  place.parentElement.classList.add("waiting");
  steps.replaceChildren();
  let whole = false, taken = false;
  try {
    const stream = await fetch("/api/turn", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key: form.dataset.key, text }) });
    if (!stream.ok) throw new Error((await stream.json().catch(() => ({}))).detail ?? String(stream.status));
    taken = true;
    for await (const [name, data] of events(stream)) {
      if (name === "text") { place.textContent += data.text; place.scrollIntoView({ block: "end" }); }
      if (name === "tool") step(name, data);
      if (name === "found") found(data);
      if (name === "done") { whole = true; if (!place.textContent) place.textContent = data.text; }
      if (name === "failed") throw new Error(data.error);
    }
    if (!whole) throw new Error("");
  } catch (error) {
    place.parentElement.classList.add("failed");
    if (!taken) {
      place.textContent = `${form.dataset.unsent}${error.message}`;
      if (!say.value) say.value = text; // nothing was taken in, so nothing is taken away
    } else place.textContent += `${place.textContent ? "\n\n" : ""}${form.dataset.failed}${error.message}`;
  }
  place.parentElement.classList.remove("waiting");
}

let next = false;
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = say.value.trim();
  if (!text) return;
  const button = form.querySelector("button");
  if (button.disabled) { next = true; return; } // it is sent when the answer is there
  say.value = "";
  say.style.height = "";
  if (text === "/new") {
    if (await attempt("POST", "/api/close", { key: form.dataset.key })) { talk.replaceChildren(); steps.replaceChildren(); tell(form.dataset.new); }
    return;
  }
  button.disabled = true;
  await answer(text);
  button.disabled = false;
  say.focus();
  if (next && say.value.trim()) form.requestSubmit();
  next = false;
});

say?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
});
say?.addEventListener("input", () => { say.style.height = "auto"; say.style.height = `${say.scrollHeight}px`; });
talk.lastElementChild?.scrollIntoView({ block: "end" });
