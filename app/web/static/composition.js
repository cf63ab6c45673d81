// Text that an input method is composing, as for Japanese, Chinese and Korean. Enter then accepts what it proposes, and
// must not send anything. Browsers report that Enter in different orders: Chromium and Firefox within the composition
// (isComposing), Safari after its end, with the key code 229 (https://bugs.webkit.org/show_bug.cgi?id=165004).

const ACCEPTS = 229;
let box = null; // where a composition is open

document.addEventListener("compositionstart", ({ target }) => (box = target), true);
for (const kind of ["compositionend", "focusout"]) document.addEventListener(kind, () => (box = null), true);

// Whether an input method has text that is not accepted yet.
export const composing = () => box !== null && box === document.activeElement;

// Whether a key belongs to the input method.
export const composes = (event) => event.isComposing || event.keyCode === ACCEPTS || composing();

// Calls `then` once no composition is open: setting a box's text would break it.
export function whenComposed(then) {
  if (composing()) document.addEventListener("compositionend", () => setTimeout(then), { once: true, capture: true });
  else then();
}
