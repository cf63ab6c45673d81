// A study in a page of another site: it has its session's token in place of a cookie, and sends that page what the study
// file allows, to that page's origin alone.

const CHAT_PX = 640; // the height of a conversation on a phone, which fills the screen it has
const LEAST_PX = 420; // the height that a dialog needs
const page = document.documentElement;
const framed = window.parent !== window; // only then is a token taken from the address: nobody is led into another's session
const kept = `parley-session-${new URLSearchParams(location.search).get("embed")}`; // as in start.html.j2

const safely = (does) => { try { return does(); } catch { return null; } }; // a browser may refuse to keep anything

function tokenOf() {
  const [, token] = location.hash.match(/^#session=(.+)/) ?? [];
  if (token) safely(() => sessionStorage.setItem(kept, token));
  return token ?? safely(() => sessionStorage.getItem(kept)) ?? "";
}

// The header that names the session. A framed page always sends it, so that no cookie stands in for it.
export const identity = framed ? { "x-parley-session": tokenOf() } : {};

// ---- What the page around it is told. Browsers deliver a message only to the origin that it is addressed to.

let host = null; // of the last response: the origins, the messages so far, the message with the height
let height = 0;
const told = new Set();

function send(message) {
  const [parent] = location.ancestorOrigins ?? []; // "null" if that page hides its address
  const listed = host.origins.includes(parent) ? [parent] : host.origins;
  for (const origin of listed) window.parent.postMessage(message, origin);
}

// Called by page.js when a screen is painted; `moved` if it is another one, whose beginning should be in view.
export function tellHost(sent, moved) {
  if (!framed || !sent) return;
  host = sent;
  for (const message of host.messages) {
    const words = JSON.stringify(message);
    if (!told.has(words)) send(message);
    told.add(words);
  }
  tellHeight(moved);
}

function tellHeight(moved = false) {
  if (!host?.height || page.dataset.ready !== "yes") return;
  const now = measured();
  if (moved || now !== height) send({ ...host.height, height: now, moved });
  height = now;
}

function measured() {
  const last = document.querySelector("#note");
  const fills = getComputedStyle(last.parentElement).overflowY === "hidden" && page.dataset.layout === "chat";
  return fills ? CHAT_PX : Math.max(LEAST_PX, Math.ceil(last.getBoundingClientRect().bottom + scrollY));
}

// A picture that was refused because no cookie came with the request is asked for with the token.
async function withToken(picture) {
  const response = await fetch(picture.src, { headers: identity });
  if (!response.ok) return;
  const reader = new FileReader();
  reader.onload = () => { picture.src = reader.result; };
  reader.readAsDataURL(await response.blob());
}

if (framed) {
  page.dataset.framed = "yes";
  const resized = new ResizeObserver(() => tellHeight());
  const found = setInterval(() => { // Gradio makes the page in its own time
    const parts = document.querySelectorAll("#head, #columns, #note");
    if (parts.length < 3) return;
    clearInterval(found);
    parts.forEach((part) => resized.observe(part));
  }, 50);
  addEventListener("error", ({ target }) => target.matches?.('img[src^="picture/"]') && withToken(target), true);
}
