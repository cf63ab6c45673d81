// The document of a step: what is typed is saved by itself, and what others change meanwhile comes to where it belongs. The
// caret and what is not saved yet stay.

import { newKey, post, send } from "./api.js";
import { whenComposed } from "./composition.js";
import { TOUCH, within } from "./focus.js";
import { $, tellRoom } from "./forms.js";
import { escaped, setText } from "./patch.js";
import { WORDS } from "./words.js";

const SAVE_MS = 1500; // after the last key
const MOST_UNSAVED_MS = 8000; // after the first key that is not saved
const SHOWN_CHARS = 2000; // of a change

const box = () => $("#document");
let page = null; // of page.js: `now`, `show`, `slow`, `failed`, and `keep`, which saves the draft
let base = null; // the version and the text that the server has, as far as this page knows
let typed = ""; // what stands in the box
let over = false; // words of somebody else were met by what is not saved yet
let saving = null; // what is on its way
let held = null; // what came from the server meanwhile
let timer = null;
let since = null; // when the first of what is not saved yet was typed
let putting = false;

export const isDocumentUnsaved = () => base !== null && typed !== base.text;

// ---- Two changes of one text

// What makes one text of another: the part that is replaced, and by what; where a paragraph was added, with the blank line
// before it. No character is cut in two.
function change(from, to) {
  const half = (text, at) => /[\uDC00-\uDFFF]/.test(text[at] ?? "") && at > 0;
  const shorter = Math.min(from.length, to.length);
  let same = 0;
  while (same < shorter && from.at(-1 - same) === to.at(-1 - same)) same++;
  if (half(from, from.length - same) || half(to, to.length - same)) same--;
  let start = 0;
  while (start < shorter - same && from[start] === to[start]) start++;
  if (half(from, start) || half(to, start)) start--;
  return { start, end: from.length - same, text: to.slice(start, to.length - same) };
}

const applied = (text, { start, end, text: added }) => text.slice(0, start) + added + text.slice(end);

// `mine` and `theirs` were both made of one text: theirs with my change. Where both changed one place mine stays, as on the
// server, which is told.
function merged(from, mine, theirs) {
  const [own, other] = [change(from, mine), change(from, theirs)];
  const growth = other.text.length - (other.end - other.start);
  if (mine === from || mine === theirs) return theirs;
  if (own.end <= other.start) return applied(theirs, own);
  if (other.end <= own.start) return applied(theirs, { ...own, start: own.start + growth, end: own.end + growth });
  over = true;
  const [start, end] = [Math.min(own.start, other.start), Math.max(own.end, other.end)];
  return applied(theirs, { start, end: end + growth, text: from.slice(start, own.start) + own.text + from.slice(own.end, end) });
}

// ---- The box

// Changes only what differs, and as if it were typed, so that the caret, the scroll bar and the undo stay; where a keyboard
// would come up on the screen, only if the box has the focus.
function put(text) {
  const place = box();
  typed = text;
  const { start, end, text: added } = change(place.value, text);
  if (place.value === text) return;
  const { selectionStart, selectionEnd, selectionDirection, scrollTop } = place;
  const moved = (at) => (at <= start ? at : Math.max(start, at - (end - start)) + (at >= end ? added.length : 0));
  if (document.activeElement === place || !TOUCH.matches) {
    putting = true;
    within(place, () => {
      place.setSelectionRange(start, end);
      document.execCommand(added ? "insertText" : "delete", false, added);
    });
    putting = false;
  }
  if (place.value !== text) place.value = text;
  place.setSelectionRange(moved(selectionStart), moved(selectionEnd), selectionDirection);
  place.scrollTop = scrollTop;
}

// Called with each screen; `moved` to it from another one.
export function showDocument(its, moved) {
  page = its;
  const { document: newest } = its.now;
  document.documentElement.toggleAttribute("data-document", Boolean(newest));
  if (!newest) return void (base = null);
  if (moved || base === null) {
    clearTimeout(timer);
    const [version, text, mine] = newest.draft ?? [newest.version, newest.text, newest.text];
    [base, over, held, since] = [{ version, text }, false, null, null];
    put(mine);
    if (isDocumentUnsaved()) saveSoon();
  } else if (box().value !== typed) {
    put(typed); // the box was drawn anew
  }
  take(newest);
  describe(newest);
}

function take(newest) {
  if (newest.version <= base.version || newest.text === null) return;
  if (saving) return void (held = newest); // it may have what is on its way
  whenComposed(() => {
    if (newest.version <= base.version) return;
    const text = merged(base.text, typed, newest.text);
    base = { version: newest.version, text: newest.text };
    put(text);
    if (!$("[data-preview]").hidden) drawPreview();
    count();
    if (isDocumentUnsaved()) saveSoon();
  });
}

// ---- Saving

export function saveSoon(ms = SAVE_MS) {
  clearTimeout(timer);
  since ??= performance.now();
  timer = setTimeout(save, Math.min(ms, Math.max(0, since + MOST_UNSAVED_MS - performance.now())));
  tell();
}

const body = (key) => {
  const { path, seen, whose, shown } = page.now;
  return { kind: "edit", path, seen, whose, shown, key, values: { version: base.version, text: typed, over } };
};

// Whether all that is typed is on the server's disk.
export async function saved() {
  while (isDocumentUnsaved() || saving) if (!(await save())) return false;
  return true;
}

function save() {
  if (saving) return saving.done;
  clearTimeout(timer);
  if (!isDocumentUnsaved()) return true;
  const asked = body(newKey());
  saving = { asked, done: sent(asked) };
  tell();
  return saving.done;
}

async function sent(asked) {
  let painting = null;
  try {
    painting = await post("api/act", asked, page.slow);
    const { document: newest } = painting;
    if (!painting.refused && newest && painting.path === asked.path) {
      base = { version: asked.values.version, text: asked.values.text }; // in what comes now
      [over, since] = [false, null];
      if (!held || held.version < newest.version) held = newest;
    }
  } catch (error) {
    page.failed(error);
  }
  saving = null;
  if (held && base) take(held);
  held = null;
  if (painting) await page.show(painting);
  page.keep(); // as a draft, if it was refused
  if (painting && !painting.refused && isDocumentUnsaved()) saveSoon(); // what cannot be sent as it is waits for the next key
  tell();
  return Boolean(painting && !painting.refused);
}

// The page may be closed now. What is on its way is sent once more with its key, and counts once.
export function saveDocumentAtOnce() {
  if (isDocumentUnsaved()) send("api/act", saving?.asked.values.text === typed ? saving.asked : body(newKey()), true);
}

// Of what the server has not taken, as it is too long.
export const documentDraft = () =>
  isDocumentUnsaved() ? { "edit:version": base.version, "edit:base": base.text, "edit:text": typed } : {};

// ---- What is said about it

function tell() {
  const line = $("[data-document-state]");
  if (line && base) setText(line, isDocumentUnsaved() ? (saving ? WORDS.busy : WORDS.unsaved) : base.version ? WORDS.stored : "");
}

function count() {
  const line = $("[data-words]");
  if (!line) return;
  const words = typed.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  const least = Number(line.dataset.words);
  setText(line, (words < least ? WORDS.least : WORDS.count).replace("{count}", words).replace("{least}", least));
  tellRoom($("#left .document [data-room]"), typed);
  tell();
}

const CHANGED = {
  model: ["modelChanged", "undo"],
  over: ["bothChanged", "bringBack"],
  over_model: ["modelToo", "bringBack"],
  undone: ["undone", "redo"],
  others_used: ["othersUsed", "undo"],
};

function describe({ change: last }) {
  const place = $("[data-undo]");
  const { version = "", kind, removed = "", added = "" } = last ?? {};
  if (place.dataset.undo !== `${version}`) {
    place.dataset.undo = version;
    const [said, button] = CHANGED[kind] ?? [];
    const { start, end, text } = change(removed, added);
    const part = (tag, text) => (text ? `<${tag}>${escaped(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text)}</${tag}>` : "");
    const parts = [part("del", removed.slice(start, end).trim()), part("ins", text.trim())].filter(Boolean).join(" ");
    const what = `<details><summary>${escaped(WORDS[said] ?? "")}</summary><p dir="auto">${parts}</p></details>`;
    place.innerHTML = said ? `${what}<button type="button" data-act="undo" name="version" value="${version}">${escaped(WORDS[button])}</button>` : "";
  }
  count();
}

document.addEventListener("input", (event) => {
  if (event.target !== box() || putting) return;
  typed = event.target.value;
  if (isDocumentUnsaved()) saveSoon();
  count();
});
document.addEventListener("focusout", (event) => event.target === box() && isDocumentUnsaved() && saveSoon(0));

async function drawPreview() {
  const told = await post("api/preview", { text: typed, typed: false }).catch(() => null);
  if (told) $("[data-preview]").innerHTML = told.html;
  return told;
}

export async function previewDocument(button) {
  const place = $("[data-preview]");
  const shows = place.hidden;
  if (shows && !(await drawPreview())) return;
  place.hidden = !shows;
  box().hidden = shows;
  setText(button, shows ? WORDS.edit : WORDS.preview);
  if (!shows) box().focus();
}
