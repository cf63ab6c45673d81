// Updates an element to the server's HTML by changing only what differs, so that nothing flickers and selection, scroll
// position and focus are kept. The element of a reply in progress (data-slot) is left to reply.js.

export const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

export function patch(element, html) {
  const parsed = document.createElement("template");
  parsed.innerHTML = html;
  children(element, parsed.content);
}

function children(old, now) {
  const next = [...now.childNodes];
  for (const gone of [...old.childNodes].slice(next.length)) gone.remove();
  for (const [number, node] of next.entries()) {
    const before = old.childNodes[number];
    if (!before) old.append(node);
    else if (!before.isEqualNode(node)) change(before, node);
  }
}

function change(before, node) {
  if (before.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE && node.data.startsWith(before.data)) {
    before.appendData(node.data.slice(before.data.length));
  } else if (before.nodeName === node.nodeName && before instanceof HTMLElement) {
    if ("slot" in node.dataset && before.dataset.slot === node.dataset.slot) return;
    for (const { name } of [...before.attributes]) if (!node.hasAttribute(name)) before.removeAttribute(name);
    for (const { name, value } of node.attributes) if (before.getAttribute(name) !== value) before.setAttribute(name, value);
    children(before, node);
  } else {
    before.replaceWith(node);
  }
}
