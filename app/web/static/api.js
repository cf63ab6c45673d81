// Talking to the participant API.

import { WORDS, speak } from "./words.js";

export const RETRY_MS = [1000, 2000, 4000];

export const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));

// Posts, and tries again while there is no connection or the server is down; `slow` is called before each new try. The
// same body goes out each time, with its key in it, so what was done once is not done twice. Throws an Error in words.
// Of an answer that comes as events the first is given, and as its `rest` the others.
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
    if (status === 401) {
      speak(await response.json()); // nobody is known here, so this is the browser's language
      throw failure(WORDS.link, status);
    }
    if (status === 413) throw failure(WORDS.long, status);
    if (status && status < 500 && status !== 429) throw failure(WORDS.broken, status);
    if (!slow || attempt >= RETRY_MS.length) throw failure((await noteOf(response)) ?? WORDS.offline, status);
    slow();
    await sleep(RETRY_MS[attempt]);
  }
}

// Whether events come as they happen. Some proxies gather them, and a click would wait for its reply: where the first one
// took longer than all others, the reply is asked for after the click from then on.
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

// Server-sent events as they come, each with its name and its data.
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

// What the server says of its trouble; nothing where there is no connection, or what stands before the server answers.
const noteOf = async (response) => (await response?.json().catch(() => null))?.note;

// The response, or null if there is no connection. `keepalive` lets it outlive the page.
export async function send(path, body, keepalive = false) {
  const headers = { "content-type": "application/json", "accept-language": spoken() };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body), keepalive }).catch(() => null);
}

// The session's language, once there is one; until then what the browser likes.
const spoken = () => (document.documentElement.dataset.ready && document.documentElement.lang) || navigator.languages.join();

const failure = (words, status) => Object.assign(new Error(words), { status });

// A name for one click: 128 random bits. (crypto.randomUUID is missing on plain http.)
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
