// Talking to the participant API.

import { identity } from "./embed.js";
import { WORDS, speak, spoken } from "./words.js";

export const RETRY_MS = [1000, 2000, 4000];
const GO_ON_MS = 5000; // after those tries, at least; at most twice as long, so that not all come at once

export const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));

// Waits before another try; less long if the connection comes back, or somebody asks for it.
const sleepers = new Set();
export const tryNow = () => sleepers.forEach((wake) => wake());
addEventListener("online", tryNow);

export async function pause(attempt) {
  let wake = null;
  const woken = new Promise((resolve) => sleepers.add((wake = resolve)));
  await Promise.race([sleep(RETRY_MS[attempt] ?? GO_ON_MS * (1 + Math.random())), woken]);
  sleepers.delete(wake);
}

// Posts. With `slow` it retries without end while there is no connection or the server is down, and calls `slow` before
// each retry, with a text to show once it takes long. Each try has the same body with the same key, so an action is
// performed only once. Throws an Error with a text to show, which `passes` if a later try may succeed.
// From a response of server-sent events it returns the first event, with the others as `rest`.
export async function post(path, body, slow = null) {
  for (let attempt = 0; ; attempt++) {
    const sent = performance.now();
    let response = await send(path, { ...body, ...(body.follow && { follow: comesAtOnce }) });
    if (response?.ok) {
      const told = await toldBy(response, sent).catch(() => null);
      if (told) return told;
      response = null; // the connection broke
    }
    const status = response?.status ?? 0;
    if (status === 401 || status === 409) {
      const told = await response.json();
      speak(told); // where nobody is known, in the browser's language
      throw Object.assign(failure(WORDS.link, status), { left: status === 409 ? told : null });
    }
    if (status === 413) throw failure(body.file ? WORDS.heavy : WORDS.long, status);
    if (status && status < 500 && status !== 429) throw failure(WORDS.broken, status);
    const words = (await noteOf(response)) ?? WORDS.offline;
    if (!slow) throw failure(words, status, true);
    slow(attempt < RETRY_MS.length ? null : words);
    await pause(attempt);
  }
}

// Whether events arrive as they are sent. Some proxies buffer them, so that a click would wait for the whole reply: if
// the first event took longer than all others, replies are requested separately from then on.
let comesAtOnce = true;

async function toldBy(response, sent) {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response.json();
  const all = events(response);
  const { value } = await all.next();
  return { ...JSON.parse(value.data), rest: timed(all, performance.now() - sent) };
}

async function* timed(rest, first) {
  const begun = performance.now();
  for await (const event of rest) {
    if (event.event === "done") comesAtOnce = performance.now() - begun > first;
    yield event;
  }
}

// Server-sent events as they arrive, each with its name and its data.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let buffer = "", read = await reader.read(); !read.done; read = await reader.read()) {
      const frames = (buffer + read.value).replace(/\r\n/g, "\n").split("\n\n");
      buffer = frames.pop();
      for (const frame of frames) yield Object.fromEntries(frame.split("\n").map((line) => line.split(/: ?(.*)/s)));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// The server's error message; nothing if there is no connection, or if a proxy answers in place of the server.
const noteOf = async (response) => (await response?.json().catch(() => null))?.note;

// The response, or null if there is no connection. `keepalive` lets it outlive the page. A `file` is the whole body, and
// all else is in the query.
export async function send(path, { file, ...values }, keepalive = false) {
  const headers = { ...identity, "content-type": file ? "application/octet-stream" : "application/json", "accept-language": spoken() };
  const given = Object.entries(values).filter(([, value]) => value !== null);
  const [query, body] = file ? [`?${new URLSearchParams(given)}`, file] : ["", JSON.stringify(values)];
  const response = await fetch(path + query, { method: "POST", headers, body, keepalive }).catch(() => null);
  lost = response === null;
  return response;
}

let lost = false; // nothing answered what was sent last
export const isOffline = () => lost || !navigator.onLine;


const failure = (words, status, passes = false) => Object.assign(new Error(words), { status, passes });

// An idempotency key: 128 random bits. (crypto.randomUUID is missing on plain http.)
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
