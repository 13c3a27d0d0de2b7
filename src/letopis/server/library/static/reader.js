// The reader of a transcript: every hundred messages are a part; parts near the window are loaded,
// those far from it are let go, and the scroll bar is that of the whole conversation.

import { attempt } from "./library.js";

const reader = document.getElementById("reader");
const { session, parts, size } = reader.dataset;
const FAR = 6;
const first = reader.querySelector(".part");
const places = [];
let typical = Math.max(400, first.getBoundingClientRect().height);
const loading = new Map();
document.documentElement.style.scrollBehavior = "auto"; // a jump over thousands of messages is a jump

function place(at) {
  const part = document.createElement("div");
  part.className = "part";
  part.dataset.part = at;
  part.style.height = `${typical}px`;
  return part;
}

async function load(part) {
  const at = Number(part.dataset.part);
  if (part.childElementCount || loading.has(at)) return loading.get(at);
  const asked = fetch(`/library/sessions/${session}/part/${at}`).then(async (answer) => {
    if (!answer.ok) return;
    part.innerHTML = await answer.text();
    part.style.height = "";
  }).catch(() => {}).finally(() => loading.delete(at));
  loading.set(at, asked);
  return asked;
}

function release(part) {
  if (!part.childElementCount || part.contains(document.activeElement)) return;
  part.style.height = `${part.getBoundingClientRect().height}px`;
  part.replaceChildren();
}

/** A part that is only passed by, while the bar is dragged, is not loaded. */
const waiting = new Map();
function wait(part, near) {
  clearTimeout(waiting.get(part));
  if (near) waiting.set(part, setTimeout(() => load(part), 80));
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) wait(entry.target, entry.isIntersecting);
  const near = entries.filter((entry) => entry.isIntersecting).map((entry) => Number(entry.target.dataset.part));
  if (near.length) {
    const low = Math.min(...near) - FAR, high = Math.max(...near) + FAR;
    for (const part of places) {
      const at = Number(part.dataset.part);
      if (at < low || at > high) release(part);
    }
  }
}, { rootMargin: "1500px 0px" });

const shown = Number(first.dataset.part);
const before = document.createDocumentFragment(), after = document.createDocumentFragment();
for (let at = 0; at < Number(parts); at++) {
  const part = at === shown ? first : place(at);
  places.push(part);
  if (at < shown) before.append(part);
  if (at > shown) after.append(part);
}
reader.prepend(before);
reader.append(after);

/** Show a message, wherever it stands. */
async function go(n) {
  const part = places[Math.min(places.length - 1, Math.floor((n - 1) / Number(size)))];
  await load(part);
  const message = document.getElementById(`m${n}`);
  if (!message) { location.assign(`?n=${n}#m${n}`); return; }
  history.replaceState(null, "", `?n=${n}#m${n}`);
  message.scrollIntoView({ block: "start", behavior: "instant" });
  message.setAttribute("tabindex", "-1");
  message.focus({ preventScroll: true });
}

const target = /^#m(\d+)$/.exec(location.hash);
if (target) document.getElementById(`m${target[1]}`)?.scrollIntoView({ block: "start", behavior: "instant" });
else if (shown > 0) first.scrollIntoView({ block: "start", behavior: "instant" });
places.forEach((part) => watcher.observe(part));

reader.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#m"]');
  if (link) { event.preventDefault(); go(Number(link.hash.slice(2))); }
});

const find = document.getElementById("find"), found = document.getElementById("found");
find.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await attempt("GET", `${find.dataset.url}?words=${encodeURIComponent(find.words.value)}`);
  if (!answer) return;
  const { messages, total, every_word: every } = answer.json;
  const list = Object.assign(document.createElement("ol"), { className: "plain list sheet found" });
  for (const one of messages) {
    const line = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href: `#m${one.n}`, className: "title", textContent: `#${one.n}` });
    link.addEventListener("click", (click) => { click.preventDefault(); go(one.n); });
    line.append(link, " ", one.text.slice(0, 300));
    list.append(line);
  }
  const notes = [];
  if (!messages.length) notes.push(find.dataset.none);
  else if (!every) notes.push(find.dataset.some);
  if (total > messages.length) notes.push(`${find.dataset.more}${total - messages.length}`);
  const told = Object.assign(document.createElement("p"), { className: "soft", textContent: notes.join(" ") });
  found.replaceChildren(...(notes.length ? [told] : []), ...(messages.length ? [list] : []));
});

document.getElementById("number").addEventListener("change", (event) => {
  if (event.target.value) go(Number(event.target.value));
});
