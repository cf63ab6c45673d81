// What scrolls: the conversation, which stays at its end while a reply is written, and what is wider than its place.

import { $, $$ } from "./forms.js";

const END_PX = 4;
const WIDE = ".code-block pre, .wide, .picture, .formula, math:not([display=block])";
const conversation = () => $("#chat [role=log]");

// The conversation follows the reply until somebody scrolls up, by however little, and again once they are at its end.
let follows = true;
let top = 0;
let reads = null; // the message that somebody further up reads, and where it is in the window

// Whatever takes room from the conversation, or gives it some, whoever follows it stays at its end.
const room = new ResizeObserver(() => atEnd(() => {}));

function look(log) {
  if (log.scrollHeight === log.clientHeight) { // all of it is shown
    document.documentElement.removeAttribute("data-behind");
    return;
  }
  if (log.scrollHeight - log.scrollTop - log.clientHeight <= END_PX) follows = true;
  else if (log.scrollTop < top) follows = false;
  top = log.scrollTop;
  document.documentElement.toggleAttribute("data-behind", !follows);
  const { top: edge } = log.getBoundingClientRect();
  const message = !follows && [...log.children].find((one) => one.getBoundingClientRect().bottom > edge);
  reads = message ? { message, at: message.getBoundingClientRect().top } : null;
}

export function atEnd(change) {
  const before = conversation();
  if (before) look(before);
  change();
  if (follows) toEnd();
}

export function toEnd() {
  const log = conversation();
  follows = true;
  if (!log) return;
  room.observe(log);
  log.scrollTop = log.scrollHeight;
  look(log);
}

// Brings the newest round of a comparison to the top: at once as far as the page is long enough, and further while its replies
// grow, unless somebody has scrolled since.
let broughtTo = null;

export function toRound(anew = false) {
  if (!anew && window.scrollY !== broughtTo) return;
  $("#talk .round:last-child")?.scrollIntoView();
  broughtTo = window.scrollY;
}

// While a reply is rated, all of the conversation is shown and the page scrolls. Whoever followed it is brought to the first
// scale, with the end of the reply above it; what somebody reads further up stays where it is.
export function toRating(form) {
  const room = form.closest("#right-column").checkVisibility() ? 0.7 : 0.87; // above it, or beside it
  const first = form.offsetHeight < room * innerHeight ? form : $(".field", form);
  if (reads?.message.isConnected) window.scrollBy(0, reads.message.getBoundingClientRect().top - reads.at);
  else first.scrollIntoView({ block: "nearest" });
  reads = null;
  follows = true;
  top = 0;
  document.documentElement.removeAttribute("data-behind");
}

// Whether an element can be seen whole, as far as the window and what scrolls around it let it.
export function inView(element) {
  const { top, bottom } = element.getBoundingClientRect();
  const around = element.closest("#left-column, #side form").getBoundingClientRect();
  return top >= Math.max(0, around.top) && bottom <= Math.min(innerHeight, around.bottom);
}

// What scrolls sideways can be reached by the keyboard, and its edge fades while there is more beyond it. A formula within
// a line does in Chromium; in Firefox it is no box, has no width of its own, and is broken like the line.
function describe(wide) {
  const isTall = wide.matches(".picture") && wide.scrollHeight > wide.clientHeight;
  if (wide.clientWidth && (isTall || wide.scrollWidth > wide.clientWidth)) wide.tabIndex = 0;
  else wide.removeAttribute("tabindex");
  wide.toggleAttribute("data-more", wide.clientWidth > 0 && Math.abs(wide.scrollLeft) + wide.clientWidth < wide.scrollWidth - 1);
}

let soon = null;

export function describeSoon() {
  soon ??= setTimeout(() => $$(WIDE).forEach(describe, (soon = null)), 100);
}

document.addEventListener("scroll", ({ target }) => {
  if (target === conversation()) look(target);
  else if (target.matches?.(WIDE)) describe(target);
}, { capture: true, passive: true });
