// Updates elements to the server's HTML by changing only what differs from its HTML before, so that nothing flickers and
// selection, scroll position and focus are kept. What is on the page is not compared: a browser's translation rewrites
// texts there (a <font> in place of each), and would be undone and shown again at every update. The element of a reply in
// progress (data-slot) is left to reply.js.

const sent = new WeakMap(); // by element: a node that has its children as the server sent them
const texts = new WeakMap(); // by element: its text as it was set last

export const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

export function patch(element, html) {
  const parsed = document.createElement("template");
  parsed.innerHTML = html;
  children(element, element.cloneNode(false), parsed.content);
  sent.set(element, parsed.content);
}

// Sets the text of an element, unless it has been set to this one before; returns whether it was changed.
export function setText(element, text) {
  if (texts.get(element) === text && Boolean(element.textContent) === Boolean(text)) return false;
  texts.set(element, text);
  if (element.textContent === text) return false;
  element.textContent = text;
  return true;
}

const copied = (node) => document.importNode(node, true);

function children(element, was, now) {
  const before = [...(sent.get(element) ?? was).childNodes];
  const shown = [...element.childNodes];
  const next = [...now.childNodes];
  sent.delete(element);
  if (shown.length !== before.length || !shown.every((node, at) => standsFor(node, before[at]))) {
    element.replaceChildren(...next.map(copied)); // a translation has moved parts about
    return;
  }
  for (const gone of shown.slice(next.length)) gone.remove();
  for (const [at, node] of next.entries()) {
    if (at >= shown.length) element.append(copied(node));
    else if (!before[at].isEqualNode(node)) change(shown[at], before[at], node);
  }
}

const standsFor = (node, was) => node.nodeName === was.nodeName || (was.nodeType === Node.TEXT_NODE && node.nodeName === "FONT");

function change(shown, was, node) {
  if (shown.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE && node.data.startsWith(shown.data)) {
    shown.appendData(node.data.slice(shown.data.length));
  } else if (was.nodeName === node.nodeName && was instanceof HTMLElement) {
    if ("slot" in node.dataset && was.dataset.slot === node.dataset.slot) return;
    for (const { name } of was.attributes) if (!node.hasAttribute(name)) shown.removeAttribute(name);
    for (const { name, value } of node.attributes) if (was.getAttribute(name) !== value) shown.setAttribute(name, value);
    children(shown, was, node);
  } else {
    shown.replaceWith(copied(node));
  }
}
