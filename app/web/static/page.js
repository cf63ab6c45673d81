// The participant's page: posts actions to the participant API, and passes the updates in its responses to Gradio.
// The only state here is the last response (`now`) and what is not sent yet; the server's log is authoritative.

import { RETRY_MS, isOffline, newKey, pause, post, send, sleep, tryNow } from "./api.js";
import { attached, takePictures } from "./attach.js";
import { keepTime, left, wait } from "./clock.js";
import { composes, composing, whenComposed } from "./composition.js";
import { copy } from "./copy.js";
import { documentDraft, isDocumentUnsaved, previewDocument, saveDocumentAtOnce, saved, showDocument } from "./document.js";
import { tellHost } from "./embed.js";
import { TOUCH, catchFocus, ignoreKeys } from "./focus.js";
import { $, $$, addFaults, goTo, missing, showFaults, showMissing, tellRoom, valuesOf } from "./forms.js";
import { showHelp } from "./help.js";
import { escaped, patch, setText } from "./patch.js";
import { listen, read, tell, tellLate, waitFor, write } from "./reply.js";
import { atEnd, describeSoon, inView, toEnd, toRating, toRound } from "./scroll.js";
import { closeSheet, makeSheet, showSheet } from "./sheet.js";
import { watch } from "./watch.js";
import { WORDS, speak } from "./words.js";

const OUTPUTS = $("script[data-outputs]").dataset.outputs.split(" ");
const PREVIEW_MS = 300;
const DRAFT_MS = 2000; // after the last key; most screens are answered before, which spares the server their drafts
const LAST_MS = 600;
const MOST_UNSAVED_MS = 10_000; // after the first key that is not saved
// The server's last response.
let now = { path: null, seen: null, whose: history.state?.whose ?? null, shown: null, marks: {}, actions: [], slots: [], updates: {} };
let busy = false; // an act is on its way
let unsaved = null; // the timer of a draft to be saved
let unsavedSince = null; // when the first of what is not saved yet was typed
let unanswered = null; // an action whose answer did not come, and its key
let ranOut = null; // the screen whose time is up
let tried = null; // the action whose form was to be sent with answers missing

const box = () => $("#box textarea");

// ---- Painting: updates are kept by component and fetched by Gradio when the bus rings; none is lost if rings merge.

let pending = {};
let rings = 0;

function paint(updates) {
  for (const [name, update] of Object.entries(updates)) pending[name] = { ...pending[name], ...update };
  window.parleyBus?.(++rings);
}

function updates() {
  const taken = pending;
  pending = {};
  return OUTPUTS.map((name) => ({ ...taken[name], __type__: "update" }));
}

// Only new parts of conversations are changed.
function converse(name, html) {
  const place = $(`#${name} .conversation`);
  if (html !== undefined && place) atEnd(() => patch(place, html));
}

// A text below the head of the page; `unseen` if it is on the page already, and only has to be read out.
function note(text, again, { fades = false, unseen = false, called = WORDS.again } = {}) {
  clearTimeout(note.timer);
  if (fades) note.timer = setTimeout(note, 5000, "");
  const button = again ? ` <button type="button" data-again>${escaped(called)}</button>` : "";
  paint({ note: { value: text ? `<p class="${unseen ? "unseen" : "note"}">${escaped(text)}${button}</p>` : "" } });
  note.again = again;
}

// `asked`: the participant did what led to this screen.
async function show(painting, asked = false) {
  const same = painting.whose && painting.whose === now.whose;
  if (same && painting.seen < now.seen) return painting.rest?.return(); // of two that were asked for, the older one
  const before = now;
  now = painting;
  tabs.postMessage({ left: now.marks.left, said: now.said, seen: now.seen, whose: now.whose, shown: now.shown });
  if (!same) history.replaceState({ whose: now.whose }, ""); // for the page when it is loaded again
  const moved = before.marks.left !== now.marks.left;
  const inBox = document.activeElement === box();
  const spills = moved && !asked && before.path !== null && before.path === ranOut; // what is being typed is of the screen before
  if (spills) { ignoreKeys(); document.activeElement.blur(); }
  if (moved) { forgetDraft(); pictures.forget(); tried = null; unsent = { text: "", told: 0 }; }
  speak(now);
  for (const block of $$(".block[dir]")) block.dir = now.dir;
  document.documentElement.dataset.layout = now.layout;
  const { talk, chat, ...others } = now.updates;
  if (!moved && box()?.value.trim()) delete others.box?.value; // what was typed meanwhile stays, also after a refusal
  paint(others);
  converse("talk", talk?.value);
  converse("chat", chat?.value);
  if (moved || now.said > before.said) toEnd();
  note(now.note);
  await painted(now);
  const spoken = new Intl.DateTimeFormat(now.lang, { dateStyle: "full", timeStyle: "short" });
  for (const time of $$("#left time")) setText(time, spoken.format(new Date(time.dateTime)));
  showDocument({ now, show, slow, failed, keep: saveSoon }, moved);
  showSheet(now, moved);
  if (!moved && now.said > before.said && !document.activeElement.closest("#left-column form")) closeSheet();
  atEnd(() => {}); // what came below the conversation left it less room
  if (moved) { kept = draft(); preview(); }
  showFaults(now.faults ?? {});
  refresh();
  tellLate();
  tell(before, now);
  keepTime(now.timing, clock);
  showHelp(now, desk);
  watch(now, note, bePresent);
  document.title = $("#left h1")?.textContent || document.title;
  document.documentElement.dataset.waiting = String(now.slots.length > 0);
  ready();
  tellHost(now.host, moved && before.path !== null);
  if (moved && before.path !== null) {
    window.scrollTo(0, 0);
    [$("#left h1"), $("#sheet-bar button")].find((place) => place?.checkVisibility())?.focus({ preventScroll: true });
    if (spills) ignoreKeys();
  }
  if (now.updates.side || now.updates.talk) showFailed(!moved && (inBox || document.activeElement === document.body));
  if (now.updates.side && now.actions.includes("rate")) toRating($("#side form"));
  if (!busy) catchFocus(now); // else at the end of the act, when buttons can be used again
  if (now.layout === "compare") toRound(!moved && now.said > before.said);
  if (now.slots.length) now.slots.forEach(follow);
  else if (!now.ended && !now.actions.length) setTimeout(look, 1000); // the server is still drawing what comes next
}

// Other tabs of this browser. One that is behind says so; it stays as it is, as somebody may be writing in it. What was decided
// or changed elsewhere on the same screen is shown at once: what can be written there stays.
const tabs = new BroadcastChannel("parley");
tabs.onmessage = ({ data }) => {
  if (data.whose !== now.whose || data.seen <= now.seen || busy || now.ended) return;
  if (data.left !== now.marks.left || data.said !== now.said) note(WORDS.elsewhere, () => look(), { called: WORDS.takeOver });
  else if (data.shown !== now.shown && !now.slots.length) look();
};

const clock = { near: bePresent, over: timeIsUp, changed: refresh };
const desk = { ask: askForHelp, look: lookForHelp, note };

// What is asked, answered or given at the desk changes nothing else on the page, where somebody may be in the middle of a form.
async function showDesk(painting) {
  if (["path", "seen", "whose"].some((name) => painting[name] !== now[name])) return show(painting);
  if (painting !== now && Math.abs((painting.timing.ends_ms ?? 0) - left()) > 2000) keepTime(painting.timing, clock);
  now = { ...now, help: painting.help, desk_ms: painting.desk_ms };
  showHelp(now, desk);
}

async function askForHelp(text, key) {
  const { path, seen, whose, shown } = now;
  const painting = await post("api/act", { kind: "ask_for_help", path, seen, whose, shown, key, values: { help: text } });
  await showDesk(painting);
  return painting.refused ? painting.note : "";
}

async function lookForHelp() {
  await showDesk(document.hidden || busy ? now : await post("api/look", { shown: now.shown, whose: now.whose }).catch(() => now));
}

function ready() {
  document.documentElement.dataset.ready = "yes";
  $("#loading")?.remove();
}

// While a reply has failed there is no message box: if it had the focus, the focus moves to the retry button. A message
// that was given back is in the box again, to be changed; after Stop the focus was at the reply.
function showFailed(inBox) {
  const card = $("#side .failed, #talk .round:last-child .card:has(.no-reply, [data-act=retry])");
  card?.scrollIntoView({ block: "nearest" });
  const given = card && now.actions.includes("say");
  if (inBox || (given && document.activeElement.matches(REPLIES))) (given ? box() : card)?.focus({ preventScroll: true });
}

// Gradio paints in its own time, and keeps the nodes that look alike: a box ticked on the last screen would still be
// ticked on this one. So wait until the new parts are there, and set their forms to what the server said.
async function painted(painting) {
  for (const name of ["left", "side"].filter((name) => name in painting.updates)) {
    const mark = painting.marks[name];
    for (let frames = 0; frames < 120 && mark !== $(`#${name} [data-mark]`)?.dataset.mark; frames++) {
      await new Promise((next) => setTimeout(next, 16));
    }
    $(`#${name} form`)?.reset();
  }
}

// ---- Talking to the server

// Before another try; with `words` once it takes long, which can then be hurried.
function slow(words) {
  if (!words) return note(navigator.onLine ? WORDS.connecting : WORDS.offline);
  ready();
  note(words, tryNow);
}

// The note when the server could not be reached; the page when it does not know this session, or another study was opened
// in this browser.
function failed(error, again) {
  ready();
  const ours = error.status === undefined; // a fault of this page: its words are for the browser's console
  if (ours) reportError(error);
  if (![401, 409].includes(error.status)) return note(ours ? WORDS.broken : error.message, again);
  if (error.left) saveAtOnce();
  now = { ...now, path: "", actions: [], slots: [], ended: true };
  document.documentElement.dataset.layout = "page";
  const { heading, note: text, link, button } = error.left ?? { heading: WORDS.reopen, note: WORDS.link };
  const way = link ? `<p><a class="button primary" href="${escaped(link)}">${escaped(button)}</a></p>` : "";
  const panel = `<h1 id="heading" tabindex="-1">${escaped(heading)}</h1><p>${escaped(text)}</p>${way}`;
  paint({ left: { value: `<div class="panel">${panel}</div>` }, note: { value: "" } });
}

async function look(asked = null) {
  try {
    await show((await asked) ?? await post("api/look", { shown: now.shown, whose: now.whose }, slow));
  } catch (error) {
    failed(error, () => look());
  }
}

// What is sent again as it was has the same key: the server may have it, though its answer did not come. Returns whether
// it was accepted.
async function act(kind, values, from, file = null) {
  if (busy) return false;
  setBusy(true, from);
  if (kind !== "stop" && !(await saved())) return setBusy(false, from);
  const { path, seen, whose, shown } = now;
  const same = JSON.stringify([kind, path, values]);
  if (unanswered?.same !== same) unanswered = { same, key: newKey() };
  const { key } = unanswered;
  const asked = { path, seen, whose, shown, key, ...(file ? { file } : { kind, values, follow: true }) };
  let done = false;
  try {
    const painting = await post(file ? "api/picture" : "api/act", asked, slow);
    unanswered = null;
    done = !painting.refused;
    if (!painting.refused) { accepted(kind, values); tried = null; }
    if (painting.refused && kind === "stop") painting.note = ""; // the reply has ended by itself
    await show(painting, !painting.refused);
    if (kind === "say" && !painting.refused) whenComposed(() => emptied(values.text));
    if (["retry", "stop"].includes(kind)) { // the button is gone
      leave(from, kind === "stop" && box().checkVisibility() && !TOUCH.matches ? box() : placeOf(values.slot));
    }
    if (["attach", "detach"].includes(kind) && done) {
      note(WORDS[`${kind}ed`], null, { fades: true, unseen: true }); // it is seen
      leave(from, $("#side [data-attach]") ?? box());
    }
    if (kind === "vote" && now.layout === "compare") leave(from, now.actions.includes("say") ? box() : $("#side [type=submit]"));
  } catch (error) {
    failed(error, () => (from.isConnected && !file ? from.click() : act(kind, values, from, file))); // what is on the screen by then
  }
  setBusy(false, from);
  const open = kind === "say" && now.actions.includes("say");
  leave(document.body, open ? box() : from); // while busy it had none
  catchFocus(now);
  return done;
}

const identityOf = ({ name, size, lastModified }) => ({ name, size, lastModified });
const pictures = takePictures((file, from) => act("attach", identityOf(file), from, file), note);

// Moves the focus from a button, or from nowhere if that is gone; not if somebody has gone elsewhere meanwhile and types there.
function leave(button, place) {
  if ([button, document.body].includes(document.activeElement)) place?.focus({ preventScroll: true });
}

function setBusy(is, button) {
  busy = is;
  if (button) button.toggleAttribute("data-busy", is);
  refresh();
}

// Clears the box once its message is accepted; text typed since then stays.
function emptied(sent) {
  const rest = box().value.trimStart();
  paint({ box: { value: rest.startsWith(sent) ? rest.slice(sent.length).trimStart() : rest }, preview: { value: "" } });
  saveSoon();
  markSaved("");
  leave($("#send"), box());
}

// ---- The reply in progress

const following = new Set();
const REPLIES = "#chat [role=log], #talk article";
const placeOf = (slot) => (slot ? $(`#talk .round:last-child [data-slot="${slot}"]`)?.closest("article") : $("#chat [role=log]"));

// A slot is the name of a reply: "" of the one in a chat, a letter of one in a column.
async function follow(slot) {
  if (following.has(slot)) return;
  following.add(slot);
  const { path, said, shown, whose } = now;
  let { rest } = now; // of the answer to the click, if it goes on to the reply
  now.rest = null;
  const same = () => now.slots.includes(slot) && now.path === path && now.said === said;
  const reply = { slot, shown, whose, text: "", blocks: "", rest: "", offset: 0, done: false };
  const paintReply = () => { atEnd(() => write(reply)); if (slot) toRound(); };
  paintReply();
  waitFor(slot, true, now.delay_ms);
  for (let attempt = 0; same() && !reply.done; attempt++) {
    if (attempt) await pause(attempt - 1);
    const before = reply.offset;
    try {
      await read(reply, () => { if (same()) { if (attempt > 1) note(""); paintReply(); } }, rest);
    } catch (error) {
      if (error.status === 401) failed(error);
      if (error.status === 409) await look();
    }
    rest = null;
    if (reply.offset > before) attempt = 0; // dropped after some words: read again at once
    if (attempt > 1 && !reply.done) slow(attempt > RETRY_MS.length ? WORDS.offline : null);
  }
  if (!reply.text) await sleep(500); // ended without a word: give the server time to say why
  following.delete(slot);
  waitFor(slot, false);
  if (same()) await (reply.text && now.shown === shown && reply.screen.path ? show(reply.screen) : look());
  else if (now.slots.includes(slot)) follow(slot);
}

// ---- Buttons, drafts and preview

// How many answers are missing, and how many others the server did not take.
function count(form, lacking) {
  const open = missing(form);
  const faulty = $$("[data-field]:has(.fault:not([hidden]))", form).filter((field) => !open.includes(field));
  const counted = [[WORDS.missing, lacking.length], [WORDS.mended, faulty.length]].filter(([, number]) => number);
  return counted.map(([words, number]) => words.replace("{count}", number)).join(" · ");
}

// Why nothing can be sent yet.
function blocked() {
  if (now.slots.length) return WORDS.waits;
  if (!now.actions.some((kind) => kind === "rate" || kind === "vote")) return "";
  return $$("#side [data-field]").length > 1 ? WORDS.firsts : WORDS.first;
}

// Buttons are enabled when their action is available and no request is pending. One that is pressed too early says what
// is missing, and its form shows it from then on.
function refresh() {
  for (const form of $$("form[data-act]")) {
    const offered = now.actions.includes(form.dataset.act);
    const lacking = tried === form.dataset.act ? missing(form) : [];
    showMissing(form, lacking);
    const button = $("[type=submit]", form);
    const early = form.dataset.act === "submit" ? wait() : 0;
    if (button) button.disabled = !offered || busy || early > 0;
    const hint = $("[data-hint]", form);
    const waits = form.dataset.act === "submit" && !offered ? blocked() : "";
    const why = early ? WORDS.wait.replace("{seconds}", early) : waits || count(form, lacking);
    const text = busy && offered ? WORDS.busy : why;
    if (hint) setText(hint, text);
  }
  tellRoom($("#side [data-room]"), box()?.value.trim() ?? "");
  const open = now.actions.includes("say") && !busy;
  if (open !== refresh.open) paint({ send: { interactive: open } });
  refresh.open = open;
  if (open) pictures.attach();
}

// Several columns may ask for a reason at once.
function typedIn(form) {
  const values = valuesOf(form);
  return form.dataset.act === "deny" ? { [`why:${values.call}`]: values.why } : values;
}

function draft() {
  const values = Object.assign({}, ...$$("form[data-act]").map(typedIn));
  if (now.layout !== "page") values["say:text"] = box()?.value ?? "";
  return { path: now.path, whose: now.whose, values: { ...values, ...documentDraft() } };
}

function forgetDraft() {
  clearTimeout(unsaved);
  unsaved = unsavedSince = null;
  markSaved("");
}

// The mark is not seen while something is unsaved. It keeps its words, as it would be read out at every pause otherwise.
function markSaved(words) {
  const mark = $("#saved");
  if (!mark) return;
  mark.toggleAttribute("data-behind", unsaved !== null);
  if (words !== undefined) setText(mark, words);
}

// The draft as the server has it. Accepted values are no longer part of it, even if they are entered again.
let kept = null;

function accepted(kind, values) {
  for (const name of kind === "say" ? ["say:text"] : Object.keys(values)) if (kept && name in kept.values) kept.values[name] = "";
  if (!values.call) return;
  for (const form of $$("form[data-act=deny]")) if (valuesOf(form).call === values.call) form.reset(); // the next call may be asked there
  saveSoon(); // without its reason
}

const isKept = (typed) => JSON.stringify(typed) === JSON.stringify(kept);

function saveSoon(ms = DRAFT_MS) {
  clearTimeout(unsaved);
  unsavedSince ??= performance.now();
  unsaved = setTimeout(save, Math.min(ms, Math.max(0, unsavedSince + MOST_UNSAVED_MS - performance.now())));
  markSaved();
}

async function save() {
  clearTimeout(unsaved);
  unsaved = unsavedSince = null;
  if (!now.path || now.ended) return;
  const typed = draft();
  if (isKept(typed)) return markSaved();
  try {
    const { saved } = await post("api/draft", typed);
    if (typed.path !== now.path) return;
    if (!saved) return markSaved(""); // not all of it, or one is elsewhere, in another tab: a click tells
    kept = typed;
    const told = Object.entries(typed.values).some(([name, value]) => value.length && !name.startsWith("edit:")); // it says itself
    markSaved(told ? WORDS.saved : "");
  } catch (error) {
    markSaved("");
    if (error.passes) saveSoon(RETRY_MS.at(-1));
  }
}

// The page may be closed now, and nobody would hear whether this arrived. If it stays open, it is saved as always.
const isUnsaved = () => kept && now.path && !now.ended && !isKept(draft());

function saveAtOnce() {
  saveDocumentAtOnce();
  if (isUnsaved()) send("api/draft", draft(), true);
}

// A draft says that somebody is there, even one of an empty form.
function bePresent() {
  if (now.path && !now.ended && !document.hidden) send("api/draft", draft(), true);
}

// Unsent answers are saved as a draft, which the server records, at last those of the moments that it grants; then its
// next screen is loaded.
async function timeIsUp(late) {
  ranOut = now.path;
  saved();
  if (document.hidden) saveAtOnce();
  else bePresent();
  await sleep(late - LAST_MS);
  if (ranOut === now.path) saveAtOnce();
  await sleep(LAST_MS);
  await look();
}

async function preview() {
  const text = box()?.value ?? "";
  const worth = now.layout === "chat" && /\\\(|\\\[|\\begin|\$|```|~~~/.test(text);
  const told = worth && (await post("api/preview", { text }).catch(() => null));
  if (text === (box()?.value ?? "")) paint({ preview: { value: told ? `<div class="text" dir="auto">${told.html}</div>` : "" } });
}

// What is wrong besides what is missing, and whether this page is still the current one, only the server knows.
async function check(kind, values) {
  const { path, seen, whose, shown } = now;
  try {
    const painting = await post("api/act", { kind, path, seen, whose, shown, key: newKey(), values });
    if (painting.path !== path || painting.seen !== seen) await show(painting);
    else addFaults(painting.faults, values);
    refresh();
  } catch (error) {
    if (error.left) failed(error);
  }
}

// Whether a message would be left behind that was typed and not sent; told once. One that got no reply is in the box again.
// The second click of a double one confirms nothing.
const CONFIRM_MS = 1000;
let unsent = { text: "", told: 0 };
function leavesMessage() {
  const text = now.layout !== "page" && now.actions.includes("say") ? box().value.trim() || "*".repeat(attached()) : "";
  if (!text || $("#side .failed, #talk .round:last-child .no-reply")) return false;
  if (text === unsent.text) return performance.now() - unsent.told < CONFIRM_MS;
  unsent = { text, told: performance.now() };
  note(WORDS.unsent);
  return true;
}

// ---- Participants' actions

function say() {
  if (busy) return;
  if (!now.actions.includes("say")) return note(blocked(), null, { fades: true });
  if (composing()) box().blur(); // a button that is touched leaves the focus there: so the input method gives its text
  const text = box().value.trim();
  if (!text && !attached()) return note(WORDS.blank, null, { fades: true }), box().focus();
  act("say", { text, ...(suggested && { suggestion: suggested }) }, $("#send"));
  suggested = null;
}

// The number of the suggested message of which what stands in the box was made, and what stood there before.
let suggested = null;
let replaced = "";
function suggest({ dataset, textContent: text }) {
  const number = Number(dataset.suggestion);
  if ("sends" in dataset) return act("say", { text, suggestion: number }, $("#send"));
  replaced = box().value;
  box().select();
  document.execCommand("insertText", false, text); // unlike a new value, it can be undone
  suggested = number;
}

// A click that began on the screen before, or the second half of a double one, is none on this one: it would answer what
// lies there.
let pressedAt = null;
for (const kind of ["mousedown", "click"]) {
  document.addEventListener(kind, (event) => {
    if (event.detail === 1 && kind === "mousedown") pressedAt = now.path;
    else if (event.detail && pressedAt !== now.path) { event.preventDefault(); event.stopImmediatePropagation(); }
  }, true);
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-act]");
  if (!form) return;
  event.preventDefault();
  const lacking = missing(form);
  const kind = event.submitter?.value || form.dataset.act;
  if (!lacking.length) {
    if (kind === "submit" && leavesMessage()) return;
    return act(kind, valuesOf(form), event.submitter ?? $("[type=submit]", form));
  }
  tried = kind;
  refresh();
  goTo(lacking[0]);
  note(count(form, lacking), null, { fades: true, unseen: inView($("[data-hint]", form)) }); // the same words as in the hint
  check(kind, valuesOf(form));
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.id === "send") say();
  else if (button.dataset.suggestion) suggest(button);
  else if ("help" in button.dataset) $("#help dialog").showModal();
  else if (button.dataset.open) document.getElementById(button.dataset.open).showModal();
  else if ("close" in button.dataset) button.closest("dialog").close();
  else if (button.dataset.act) act(button.dataset.act, button.name ? { [button.name]: button.value } : {}, button);
  else if (button.dataset.copy || button.matches(".copy")) copy(button, WORDS.copied);
  else if ("previews" in button.dataset) previewDocument(button);
  else if ("newest" in button.dataset) { toEnd(); $("#chat [role=log]").focus({ preventScroll: true }); }
  else if ("again" in button.dataset) { const { again } = note; note(""); again?.(); }
});

document.addEventListener("input", (event) => {
  if (!event.target.closest("form[data-act], #box") || event.target.id === "document") return;
  if (event.target.matches("textarea, input[type=text]")) event.target.dir = event.target.value.trim() && "auto";
  saveSoon();
  refresh();
  if (!note.again && $("#note p")) note("");
  if (event.target === box() && ["", replaced].includes(box().value)) suggested = null;
  if (event.target === box()) { clearTimeout(preview.timer); preview.timer = setTimeout(preview, PREVIEW_MS); }
});

// Enter sends and Shift+Enter inserts a line break; on touch screens Enter inserts a line break.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target !== box()) return;
  const sends = event.ctrlKey || event.metaKey || !(event.shiftKey || TOUCH.matches);
  event.stopPropagation();
  if (!sends || composes(event)) return;
  event.preventDefault();
  say();
}, true);
// A reason to refuse or to allow is no decision yet.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches(".approval input")) event.preventDefault();
});
document.addEventListener("keypress", (event) => { // at which Gradio's box would take the line break back
  if (event.key === "Enter" && event.target === box()) event.stopPropagation();
}, true);

for (const kind of ["copy", "cut", "dragstart", "contextmenu"]) {
  document.addEventListener(kind, (event) => {
    const from = kind === "dragstart" || kind === "contextmenu" ? event.target : getSelection().anchorNode;
    if (!(from?.closest ? from : from?.parentElement)?.closest("[data-nocopy]")) return;
    event.preventDefault();
    note(WORDS.nocopy, null, { fades: true });
  });
}

addEventListener("resize", describeSoon);
document.fonts?.addEventListener("loadingdone", describeSoon); // formulas are wider in their own font
addEventListener("pagehide", saveAtOnce);
addEventListener("beforeunload", (event) => isOffline() && (isUnsaved() || isDocumentUnsaved()) && event.preventDefault());
document.addEventListener("visibilitychange", () => document.hidden && saveAtOnce());
addEventListener("pageshow", (event) => event.persisted && look());

// Gradio builds itself after this script has run, and calls begin() when its bus is there.
async function begin() {
  if (begin.done) return;
  begin.done = true;
  while ($$(".conversation").length < 2) await sleep(16);
  const line = $("#note");
  line?.setAttribute("role", "status");
  line?.setAttribute("aria-live", "polite");
  listen();
  makeSheet();
  new MutationObserver(describeSoon).observe(document.body, { childList: true, subtree: true }); // in Gradio's own time
  look(first);
}

const first = post("api/look", { shown: now.shown, whose: now.whose }).catch(() => null); // its answer is here before Gradio is
window.parley = { begin, updates, paint, atEnd };
if (window.parleyBus) begin();
