// On a phone a conversation has the whole screen. Its question and the form for the answer are in a sheet that slides over
// it, above the message box. A bar at the top has the button that opens and closes it, which says that the assistant has
// changed a document in it, and one that leads to the answer, or ends the conversation where nothing is asked.

import { $, goTo, missing } from "./forms.js";
import { setText } from "./patch.js";
import { describeSoon } from "./scroll.js";
import { WORDS } from "./words.js";

const FIRST_CHARS = 200; // as much of the question as the bar may need
const KEYBOARD = 0.8; // less than this share of the window is visible while a keyboard is on the screen
const LAID_OUT = "mfrac, msup, msub, msubsup, munder, mover, munderover, msqrt, mroot, mtable";
const PHONE = matchMedia("(width < 40rem) and (height >= 30rem)"); // as in sheet.css
const page = document.documentElement;
let bar = null;
let title = null;
let toggle = null;
let onward = null;
let [newest, seen] = [0, 0]; // of the versions of a document that the assistant made: the last one, and the last in sight

const form = () => $("#left form");
const isOpen = () => page.dataset.sheet === "open";
const shows = () => bar?.checkVisibility() && !$("dialog[open]");

function set(open) {
  page.dataset.sheet = open ? "open" : "closed";
  toggle.setAttribute("aria-expanded", String(open));
  title.ariaLevel = open ? "2" : "1"; // the page's own heading is in the sheet
  beReached();
  tellChange();
  describeSoon(); // what is not shown has no width
}

// A sheet may be longer than its place: it is scrolled by the keyboard, too.
function beReached() {
  const sheet = $("#left-column");
  const scrolls = PHONE.matches && isOpen() && page.dataset.layout === "chat";
  const how = { tabindex: "0", role: "region", "aria-label": called() };
  for (const [name, value] of Object.entries(how)) scrolls ? sheet.setAttribute(name, value) : sheet.removeAttribute(name);
}

function tellChange() {
  if (isOpen() || !PHONE.matches) seen = newest;
  toggle.toggleAttribute("data-changed", newest > seen);
  if ($("#left .document")) setText(toggle.lastChild, newest > seen ? WORDS.changed : "");
}

function open() {
  set(true);
  $("#left-column").scrollTop = 0;
  $("#left .document")?.scrollIntoView();
  ($("#document") ?? $("#left h1"))?.focus({ preventScroll: true });
}

export function closeSheet() {
  if (!bar || !isOpen()) return;
  const within = $("#left-column").contains(document.activeElement);
  set(false);
  if (within) toggle.focus();
}

function goOn() {
  const button = $("[type=submit]", form());
  if (!$("[data-field]", form()) && !button.disabled) return button.click();
  set(true);
  const field = missing(form())[0] ?? $("[data-field]:not(.document)", form());
  if (field) goTo(field);
  else button.focus();
}

export function makeSheet() {
  [bar, title, toggle, onward] = ["div", "div", "button", "button"].map((tag) => document.createElement(tag));
  bar.id = "sheet-bar";
  toggle.setAttribute("aria-controls", "left-column");
  toggle.append(document.createElement("b"), document.createElement("span"));
  for (const button of [toggle, onward]) button.type = "button";
  title.role = "heading";
  title.append(toggle);
  bar.append(title, onward);
  $("#left-column").before(bar);
  set(false);
  toggle.addEventListener("click", () => (isOpen() ? closeSheet() : open()));
  onward.addEventListener("click", goOn);
  document.addEventListener("keydown", (event) => event.key === "Escape" && shows() && closeSheet());
  document.addEventListener("change", ({ target }) => {
    const answered = shows() && isOpen() && form()?.contains(target) && !missing(form()).length;
    if (answered) $("[type=submit]", form()).scrollIntoView({ block: "nearest" });
  });
  PHONE.addEventListener("change", beReached);
  visualViewport?.addEventListener("resize", fit);
}

// The bar of a screen. On one that has just come the sheet is open until something was said, since the question is new.
export function showSheet({ layout, said, actions, document: its }, moved) {
  if (layout !== "chat") return beReached();
  newest = its?.change?.kind === "model" ? its.change.version : 0;
  if (moved) {
    seen = newest;
    set(said === 0);
    $("#left-column").scrollTop = 0;
  }
  const work = $("#left .document");
  setText(toggle.firstChild, called());
  const question = $("#left .problem .text") ?? $("#left .shown .text") ?? $("#left h1");
  work ? tellChange() : setText(toggle.lastChild, question ? firstWords(question) : "");
  onward.hidden = !said || !actions.includes("submit");
  const ends = `${$("[type=submit]", form())?.textContent}${work ? "…" : ""}`;
  setText(onward, $("[data-field]:not(.document)", form()) ? WORDS.answer : ends);
}

function called() {
  if ($("#left .document")) return WORDS.document;
  const text = $("#left .problem .text");
  return text && headingOf(text) && !$("#left .options") ? WORDS.task : WORDS.question;
}

// The first line of a card, in bold.
function headingOf(text) {
  const [first, next] = text.children;
  return next && first.textContent === $("strong", first)?.textContent ? first : null;
}

// Formulas that are more than a row of signs are left out: two over three would be 23. So is the heading of a card.
function firstWords(question) {
  const copy = question.cloneNode(true);
  for (const formula of copy.querySelectorAll("math")) formula.replaceWith(formula.querySelector(LAID_OUT) ? "…" : formula.textContent);
  headingOf(copy)?.remove();
  return copy.textContent.trim().slice(0, FIRST_CHARS);
}

// A keyboard on the screen covers the page and does not make it smaller, so the page is given what is left. Enlarging the
// page by two fingers leaves less of it, too, and changes nothing here.
function fit() {
  const visible = Math.round(visualViewport.height * visualViewport.scale);
  const keyboard = visible < innerHeight * KEYBOARD;
  page.style.setProperty("--visible", keyboard ? `${visible}px` : "100dvh");
  page.toggleAttribute("data-keyboard", keyboard);
  if (keyboard && shows()) window.scrollTo(0, 0); // browsers move the page up to show the box, which now is in view
}
