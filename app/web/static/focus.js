// Where keys go: never to the page's body when what had the focus is gone, and to nothing while a screen is new to somebody
// who is still typing on the one before. Whoever goes to a box of the new one has seen it: from then on all is taken.

import { $$ } from "./forms.js";

const SPILL_MS = 1000;
// What a key would press or choose; nothing for somebody who is typing, nor while a reply is awaited.
const CONTROLS = ["#side form input:not([type=hidden])", "#side button:not(.attach *)", "#left [type=submit]"];
const PLACES = [
  "#side .failed, #talk .round:last-child article:has([data-act=retry])",
  "#chat [role=log], #talk .round:last-child article",
  "#left h1",
  "#sheet-bar button",
];
export const TOUCH = matchMedia("(pointer: coarse)"); // the focus would bring up a keyboard
let last = null;
let ignoredUntil = 0;

export const ignoreKeys = () => (ignoredUntil = performance.now() + SPILL_MS);

const goOn = (event) => (event.type === "pointerdown" || event.key === "Tab") && (ignoredUntil = 0);
for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, goOn, true);

for (const kind of ["keydown", "keypress", "keyup", "beforeinput"]) {
  addEventListener(kind, (event) => {
    if (performance.now() > ignoredUntil || /^F\d/.test(event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
}

document.addEventListener("focusin", ({ target }) => (last = target));

// Does something in a place that has to have the focus for it, if it can have it, and gives the focus back.
export function within(place, does) {
  const [before, was] = [document.activeElement, last];
  place.focus({ preventScroll: true });
  if (document.activeElement === place) does();
  if (before !== place) before === document.body ? place.blur() : before.focus({ preventScroll: true });
  last = was;
}

const isThere = (place) => place.isConnected && !place.disabled && place.checkVisibility();

// Moves the focus to what comes next, if what had it is gone; not if somebody has clicked elsewhere.
export function catchFocus({ actions, slots }) {
  if (document.activeElement !== document.body || !last || isThere(last)) return;
  const box = actions.includes("say") && !TOUCH.matches ? ["#box textarea"] : [];
  const types = last.matches("textarea, input[type=text]");
  const places = slots.length || types ? [...box, ...PLACES] : [...box, ...CONTROLS, ...PLACES];
  places.flatMap((place) => $$(place)).find(isThere)?.focus({ preventScroll: true });
}
