// The page's telemetry: times and counts, no content. It must not slow or break the page: exceptions are swallowed,
// nothing is waited for, and a batch that does not arrive is sent once more and then dropped.
// (The file is not called telemetry.js, because ad blockers refuse files of that name.)

import { newKey } from "./api.js";
import { identity } from "./embed.js";
import { WORDS } from "./words.js";

const EVERY_MS = 30_000; // how often is sent what there is
const PATIENCE_MS = 10_000; // how long an answer is waited for
const ALIVE_MS = 60_000; // how often the server is told that somebody is there
const PAUSE_MS = 2_000; // a longer gap between two keys is no typing
const LONGEST_MS = 30 * 24 * 3600 * 1000;
const MOST_COUNT = 1_000_000;
const MOST_QUEUED = 200;
const AT_ONCE = 50;

const safely = (does) => (...given) => { try { return does(...given); } catch { /* the page goes on */ } };
const listen = (target, kinds, does, options = { passive: true, capture: true }) =>
  kinds.forEach((kind) => target.addEventListener(kind, safely(does), options));
const at = () => performance.now();
const whole = (number, most) => Math.max(0, Math.min(most, Math.round(number) || 0));
const ms = (number) => whole(number, LONGEST_MS);

let save = null; // keeps what is typed on the server, by which it knows that somebody is there
let aliveAt = 0; // when it was told so last
let note = () => {}; // says a sentence on the page
let messagePaste = "allow"; // what pasting into the message box does

// ---- What is to be sent

let queue = [];
let whose = null; // the session that the page shows
let again = null; // a batch that did not arrive
let sending = false;

function add(path, record) {
  queue.push({ at: at(), path, ...record });
  queue.splice(0, queue.length - MOST_QUEUED);
}

function flush(leaving = false) {
  if (sending && !leaving) return;
  const batch = again ?? (queue.length ? { key: newKey(), records: queue.splice(0, AT_ONCE), tries: 0 } : null);
  if (!batch) return;
  again = null;
  sending = true;
  post(batch, leaving).then((arrived) => {
    sending = false;
    if (!arrived && !batch.tries++) again = batch;
  });
  if (leaving && queue.length) flush(true);
}

// Whether a batch is settled: accepted, or refused permanently.
async function post({ key, records }, keepalive) {
  try {
    const told = records.map(({ at: when, ...record }) => ({ ...record, ago_ms: ms(at() - when) }));
    const response = await fetch("api/telemetry", {
      method: "POST",
      headers: { ...identity, "content-type": "application/json" },
      body: JSON.stringify({ key, whose, records: told }),
      keepalive,
      priority: "low",
      signal: AbortSignal.timeout?.(PATIENCE_MS),
    });
    return response.status < 500;
  } catch {
    return false;
  }
}

// ---- The current screen: what was counted since its last record

let screen = null;
let focused = document.hasFocus();
let leftAt = null;

const here = () => focused && !document.hidden;

function begun({ mark, path, seen, acted = false, lastKey = null }) {
  const now = at();
  const counted = { visible: 0, reading: 0, typing: 0, firstKey: null, keys: {}, choices: 0 };
  return { mark, path, seen, acted, lastKey, from: now, since: here() ? now : null, ...counted };
}

// The time up to now belongs to what was so up to now.
function settle(now = at()) {
  if (!screen || screen.since === null) return;
  screen.visible += now - screen.since;
  if (!screen.acted) screen.reading += now - screen.since;
  screen.since = now;
}

function told() {
  if (!screen) return;
  const now = at();
  settle(now);
  if (now - screen.from < 5) return; // the page is left: its two events follow each other
  add(screen.path, {
    kind: "screen",
    seen: screen.seen,
    shown_ms: ms(now - screen.from),
    visible_ms: ms(screen.visible),
    reading_ms: ms(screen.reading),
    typing_ms: ms(screen.typing),
    first_key_ms: screen.firstKey === null ? null : ms(screen.firstKey),
    keys: screen.keys,
    choices: whole(screen.choices, MOST_COUNT),
  });
  screen = begun(screen);
}

// Called by page.js when a screen is painted.
export const watch = safely((now, say, keep) => {
  if (now.whose !== whose) [queue, again, screen] = [[], null, null]; // what was counted is another's
  ({ whose } = now);
  note = say;
  save = now.ended ? null : keep;
  messagePaste = now.paste;
  idleAfter(now.idle_s);
  const mark = `${now.path} ${now.marks.left}`;
  if (now.telemetry && screen?.mark === mark && !now.ended) {
    screen.seen = now.seen;
    return;
  }
  if (now.telemetry) told();
  else [queue, again] = [[], null];
  screen = now.telemetry && !now.ended ? begun({ mark, path: now.path, seen: now.seen }) : null;
  if (now.ended || queue.length >= AT_ONCE) setTimeout(safely(flush), 0); // else with what comes until its time
});

// ---- Keys and choices: that there was one, and in which box

const boxOf = (target) => {
  const box = target?.closest?.("textarea, input[type=text]");
  if (!box) return null;
  if (box.closest("#box")) return { name: "message", paste: messagePaste };
  return { name: box.dataset.paste ? box.name : "", paste: box.dataset.paste ?? "allow" };
};
const OTHERS = ["Backspace", "Delete", "Enter", "Unidentified", "Process", "Dead"];

listen(document, ["keydown"], (event) => {
  const shortcut = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph");
  const box = screen && boxOf(event.target);
  if (!box || shortcut || (event.key.length > 1 && !OTHERS.includes(event.key))) return;
  const now = at();
  settle(now);
  if (screen.lastKey !== null && now - screen.lastKey < PAUSE_MS) screen.typing += now - screen.lastKey;
  screen.lastKey = now;
  screen.firstKey ??= now - screen.from;
  screen.acted = true;
  if (box.name) screen.keys[box.name] = whole((screen.keys[box.name] ?? 0) + 1, MOST_COUNT);
});

listen(document, ["change"], (event) => {
  if (!screen || !event.target.matches?.("input[type=radio], input[type=checkbox], input[type=range]")) return;
  settle();
  screen.choices += 1;
  screen.acted = true;
});

// ---- The box that people do not see: that something was written in it

listen(document, ["change"], (event) => {
  if (screen && event.target.matches?.("[data-honeypot]") && event.target.value) add(screen.path, { kind: "honeypot" });
});

// ---- Pasting and copying: how much text, and where; pictures are none

listen(document, ["paste", "drop"], (event) => {
  const box = boxOf(event.target);
  const chars = (event.clipboardData ?? event.dataTransfer)?.getData("text/plain").length ?? 0;
  if (!box?.name || !chars) return;
  const blocked = box.paste === "block";
  if (blocked) {
    event.preventDefault();
    event.stopPropagation();
    note(WORDS.nopaste, null, { fades: true });
  }
  if (!screen || box.paste === "allow") return;
  add(screen.path, { kind: "pasted", box: box.name, chars: whole(chars, MOST_COUNT), blocked });
}, { capture: true });

listen(document, ["copy", "cut"], (event) => {
  if (!screen) return;
  const box = event.target.closest?.("textarea, input");
  const chars = box ? box.selectionEnd - box.selectionStart : String(getSelection()).length;
  const node = box ?? getSelection().anchorNode;
  const place = node?.closest ? node : node?.parentElement;
  const within = (selector) => Boolean(place?.closest(selector));
  const from = within(".problem, .recall") ? "problem" : within("#chat, #talk, .transcript") ? "conversation" : "page";
  const { path } = screen;
  const copied = () => event.defaultPrevented || add(path, { kind: "copied", chars: whole(chars, MOST_COUNT), from });
  if (chars) setTimeout(safely(copied), 0); // by then it is known whether the page let it happen
});

// ---- Leaving and coming back

function turned() {
  const now = at();
  settle(now);
  if (!screen) return;
  screen.since = here() ? now : null;
  if (!here() && leftAt === null) {
    leftAt = now;
    add(screen.path, { kind: "left" });
  } else if (here() && leftAt !== null) {
    add(screen.path, { kind: "came_back", away_ms: ms(now - leftAt) });
    leftAt = null;
  }
}

function leave() {
  turned();
  told();
  flush(true);
}

listen(window, ["focus", "blur"], (event) => {
  if (event.target !== window) return; // of something in the page
  focused = event.type === "focus";
  turned();
});
listen(document, ["visibilitychange"], () => (document.hidden ? leave() : turned()));
listen(window, ["pagehide"], leave);
setInterval(safely(flush), EVERY_MS);

// ---- Inactivity: the page asks once whether the participant is still there

let idleMs = 0;
let stirred = at();
let dozing = null;

function idleAfter(seconds) {
  idleMs = (seconds ?? 0) * 1000;
  if (!idleMs) document.getElementById("still-there")?.close();
  doze();
}

function doze() {
  clearTimeout(dozing);
  if (!idleMs || document.getElementById("still-there")) return;
  const left = stirred + idleMs - at();
  if (left > 0) dozing = setTimeout(safely(doze), left);
  else ask();
}

function ask() {
  const dialog = document.createElement("dialog");
  dialog.id = "still-there";
  dialog.setAttribute("aria-labelledby", "still-there-words");
  const words = Object.assign(document.createElement("p"), { id: "still-there-words", textContent: WORDS.idle });
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: WORDS.here });
  dialog.append(words, button);
  button.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", safely(() => {
    dialog.remove();
    stirred = at();
    if (screen) add(screen.path, { kind: "here" });
    alive();
    doze();
  }));
  document.body.append(dialog);
  dialog.showModal(); // the focus is on the button now; Esc closes it too, and the focus goes back to where it was
  if (screen) add(screen.path, { kind: "idle", after_ms: ms(at() - stirred) });
}

listen(document, ["keydown", "pointerdown", "pointermove", "wheel", "touchstart", "scroll"], () => {
  stirred = at();
  if (idleMs && stirred - aliveAt > ALIVE_MS) alive();
});

// If inactivity has consequences, the page reports activity once a minute by saving the content of its forms again.
function alive() {
  aliveAt = at();
  save?.();
}
