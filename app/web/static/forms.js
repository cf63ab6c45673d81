// Forms as the server renders them: reading answers, finding and marking what is missing, showing errors, and Enter.

import { composes } from "./composition.js";
import { setText } from "./patch.js";
import { WORDS } from "./words.js";

export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

export function valuesOf(form) {
  const values = {};
  for (const [name, value] of new FormData(form)) {
    const many = $(`fieldset[data-control=checkbox] [name="${CSS.escape(name)}"]`, form);
    values[name] = many ? [...(values[name] ?? []), value] : value;
  }
  return values;
}

// The fields of a form that have no answer, in the order of the page; `missing` are those of them that need one.
export function unanswered(form) {
  const values = valuesOf(form);
  return $$("[data-field]", form).filter(({ dataset }) => !String(values[dataset.field] ?? "").trim());
}

export const missing = (form) => unanswered(form).filter((field) => "required" in field.dataset);

// How many characters are left of those that a text may have, once it has most of them. Nothing is cut off; the server
// refuses what is longer.
const NEAR = 0.1; // of the characters that it may have
export function tellRoom(line, text) {
  if (!line) return;
  const left = line.dataset.room - [...text].length;
  const words = left < 0 ? WORDS.excess : WORDS.room;
  setText(line, left < NEAR * line.dataset.room ? words.replace("{count}", Math.abs(left)) : "");
}

// A slider has no answer until the participant has set its handle, even if only to its initial position.
const slid = (event) => {
  const line = event.target;
  if (line.type !== "range" || (event.type === "pointerup" && !("untouched" in line.dataset))) return;
  const kept = $("[type=hidden]", line.parentElement);
  kept.value = $("output", line.parentElement).value = line.value;
  delete line.dataset.untouched;
  line.removeAttribute("aria-valuetext");
  if (event.type === "pointerup") line.dispatchEvent(new Event("input", { bubbles: true }));
};
for (const kind of ["input", "pointerup"]) document.addEventListener(kind, slid, true);

const controls = (field) => $$("input:not([type=hidden]), textarea", field);

// Marks a field as invalid and says why; without a text, removes the mark.
function mark(field, text) {
  const line = $(".fault", field);
  if (!line || !setText(line, text)) return;
  line.hidden = !text;
  for (const control of controls(field)) {
    control.dataset.described ??= control.getAttribute("aria-describedby") ?? "";
    const described = [text && line.id, control.dataset.described].filter(Boolean).join(" ");
    if (text) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
    if (described) control.setAttribute("aria-describedby", described);
    else control.removeAttribute("aria-describedby");
  }
}

// Shows the server's errors, by field, and no others.
export function showFaults(found) {
  const fields = $$("[data-field]");
  for (const field of fields) mark(field, found[field.dataset.field] ?? "");
  const first = fields.find(({ dataset }) => dataset.field in found);
  if (first) goTo(first);
}

// Shows the server's errors in the answers that were `sent`, where others are missing. Nothing moves: by now somebody may
// be typing.
export function addFaults(found, sent) {
  for (const field of $$("[data-field]")) {
    const { field: name } = field.dataset;
    if (name in found && String(sent[name] ?? "").trim()) mark(field, found[name]);
  }
}

// Marks the fields that miss an answer, and no longer those that have one by now.
const WHY = { tick: "tick", slider: "slider" }; // by control, the word for it
const marked = new Set();

export function showMissing(form, fields) {
  for (const field of $$("[data-field]", form)) {
    const name = field.dataset.field;
    if (fields.includes(field)) {
      marked.add(name);
      mark(field, WORDS[WHY[field.dataset.control] ?? "unanswered"]);
    } else if (marked.delete(name)) {
      mark(field, "");
    }
  }
}

// Brings a whole field into view, its question first, and moves the focus to its first control.
export function goTo(field) {
  field.scrollIntoView({ block: field.offsetHeight < innerHeight / 2 ? "center" : "start" });
  controls(field)[0]?.focus({ preventScroll: true });
}

// Browsers send a form at Enter in any of its lines, boxes and sliders. Here that is done only if every question has an
// answer; otherwise Enter leads on to the next question without one, and after the last of them to the button.
document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("form[data-act]");
  if (!form || event.key !== "Enter" || composes(event)) return;
  if (event.repeat && event.target.matches("input, [type=submit]")) return event.preventDefault(); // a key held down
  const open = event.target.matches("input") ? unanswered(form) : [];
  if (!open.length) return;
  event.preventDefault();
  const follows = (field) => event.target.compareDocumentPosition(field) & Node.DOCUMENT_POSITION_FOLLOWING;
  const next = open.find(follows);
  if (next) goTo(next);
  else $("[type=submit]", form)?.focus();
});
