// The review queue by keyboard: J and K move, A approves, E corrects, R rejects. The keys of a
// Russian keyboard do the same: what counts is where the key is.

const cards = [...document.querySelectorAll(".suggestion")];
const KEPT = "letopis-review";
let at = Math.min(Number(sessionStorage.getItem(KEPT) ?? 0), Math.max(0, cards.length - 1));

function choose(next) {
  at = Math.max(0, Math.min(cards.length - 1, next));
  cards[at]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const key = { KeyJ: "j", KeyK: "k", KeyA: "a", KeyE: "e", KeyR: "r" }[event.code];
  if (!key || !cards.length) return;
  event.preventDefault();
  const here = cards.indexOf(document.activeElement?.closest(".suggestion"));
  if (here >= 0) at = here;
  if (key === "j") choose(here < 0 ? 0 : at + 1);
  else if (key === "k") choose(at - 1);
  else cards[at].querySelector(`[data-key="${key}"]`)?.click();
});

document.addEventListener("submit", (event) => {
  const here = cards.indexOf(event.target.closest(".suggestion"));
  if (here >= 0) sessionStorage.setItem(KEPT, String(here));
}, true);

cards[at]?.focus({ preventScroll: at === 0 });
