// A reply in progress, read from the participant API as server-sent events.

import { events } from "./api.js";
import { identity } from "./embed.js";
import { escaped, patch, setText } from "./patch.js";
import { WORDS } from "./words.js";

const FRAME_MS = 16; // between two paints
const REST = 3; // times what a paint takes, for everything else on a slow processor
const LATE_MS = 8000;
const typing = () => `<span class="typing">${escaped(WORDS.writing)}</span>`;

// Reads the reply from its beginning until its events end, and calls `painted` with the text so far: at once, but not more
// often than a screen can show, or than its processor can bear. Throws if the connection breaks. The events are the `rest` of the answer to the click that asked for it,
// or are asked for. A connection that was lost is read from the beginning again and not from an offset: after a crash of
// the server the model was asked anew, and its words may be others. The screen that comes after the reply is told with its
// end, for a page that still shows what was `shown` when it was asked for.
export async function read(reply, painted, rest) {
  Object.assign(reply, { text: "", blocks: "", rest: "", offset: 0 });
  let timer = null;
  let due = 0;
  const push = () => {
    const begun = performance.now();
    timer = null;
    if (reply.text || reply.anew) painted();
    reply.anew = false;
    const ended = performance.now();
    due = ended + Math.max(FRAME_MS, REST * (ended - begun));
  };
  try {
    for await (const event of rest ?? await asked(reply)) {
      take(event, reply);
      timer ??= setTimeout(push, due - performance.now());
      if (reply.done) break;
    }
  } finally {
    clearTimeout(timer);
    push();
  }
}

async function asked({ slot, shown, whose }) {
  const query = new URLSearchParams({ view: "page", slot, ...(whose && { whose }), ...(shown && { shown }) });
  const response = await fetch(`api/reply?${query}`, { headers: identity });
  if (!response.ok) throw Object.assign(new Error("no stream"), { status: response.status });
  return events(response);
}

function take({ event, data }, reply) {
  if (event === "done") Object.assign(reply, { done: true, screen: JSON.parse(data) });
  if (event !== "delta") return;
  const { text, offset, html, rest } = JSON.parse(data);
  reply.text = offset ? reply.text + text : "";
  reply.blocks = offset ? reply.blocks + (html ?? "") : "";
  reply.rest = offset ? (rest ?? reply.rest + text) : "";
  reply.anew = !offset; // what came before counts no more, the model is asked anew
  if (text) waitFor(reply.slot);
  reply.offset = offset; // in the server's count of characters, which is not JavaScript's
}

// Shows a reply so far: its complete blocks as the server has rendered them, and the rest as plain text.
export function write({ slot, blocks, rest }) {
  const place = document.querySelector(`:is(#chat, #talk) [data-slot="${slot}"]`);
  const tail = plain(rest);
  if (place) patch(place, blocks + (tail.trim() ? `<p class="rest">${escaped(tail)}</p>` : "") || typing());
}

// Without the commonest marks of Markdown, which would be in the way of reading along; the whole is rendered with them.
// Asterisks between operands are signs. Displayed formulas come with their block.
const plain = (text) =>
  text.replace(/\$\$[^]*?(\$\$|$)|\\\[[^]*?(\\\]|$)/g, "…").replace(/(^|[^\w)\]}*])\*\*(?=[^\s*])|(?<=[^\s*])\*\*(?![\w([{*])/gm, "$1").replace(/^#+ /gm, "")
    .replace(/^(\s*)[-*] /gm, "$1• ").replace(/(^|\s)\*([^\s\d*][^*\n]*)\*(?!\w)/g, "$1$2");

// Replies that keep somebody waiting: after some seconds without another word that is said, once and calmly.
const late = new Set();
const timers = {};

export function waitFor(slot, waits = true, more = 0) {
  clearTimeout(timers[slot]);
  late.delete(slot);
  if (waits) timers[slot] = setTimeout(() => tellLate(late.add(slot)), LATE_MS + more);
  tellLate();
}

export function tellLate() {
  const line = document.querySelector("[data-late]");
  if (line) setText(line, late.size ? WORDS.late : "");
}

// For those who hear the page: that a reply is being written or which tool is used for it, and the whole of it when it is
// there. What failed is an alert where it stands.
let heard = null;

export function listen() {
  heard = Object.assign(document.createElement("p"), { id: "heard", className: "unseen", role: "status" });
  document.querySelector("#note").parentElement.append(heard);
}

export function tell(before, now) {
  const same = before.path === now.path;
  if (now.slots.length) setText(heard, going());
  else if (!same) heard.textContent = "";
  else if (before.slots.length) setTimeout(() => (heard.textContent = whole(now)), 300); // once it is painted
}

function going() {
  const lines = [...document.querySelectorAll("#chat .typing, #talk .typing")].map((line) => line.textContent);
  return [...new Set(lines)].join(", ") || WORDS.writing;
}

function whole(now) {
  const columns = [...document.querySelectorAll("#talk .round:last-child article:not(:has(.no-reply))")];
  if (now.layout === "compare") return columns.map((one) => `${one.ariaLabel}: ${plainly(one)}`).join(" ");
  const last = document.querySelector("#chat .message:last-child.bot");
  return last ? `${document.querySelector("#chat [role=log]").ariaLabel}: ${plainly(last)}` : "";
}

// Without what is not for the ear, nor folded away; a formula by the words of its source, as its signs in a row would be another.
function plainly(message) {
  const copy = message.cloneNode(true);
  for (const part of copy.querySelectorAll("[aria-hidden=true], button, .who, details > :not(summary)")) part.remove();
  for (const formula of copy.querySelectorAll("math")) formula.replaceWith(` ${formula.getAttribute("alttext").replace(/[\\{}$]+/g, " ")} `);
  return copy.textContent.replace(/\s+/g, " ").trim();
}
