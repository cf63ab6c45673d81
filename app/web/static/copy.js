// Copies the code beside a button, or the text that the button names, and confirms it on the button.

const COPIED_MS = 2000;

export async function copy(button, copied) {
  const code = document.getElementById(button.dataset.copy) ?? button.parentElement.querySelector("code");
  getSelection().selectAllChildren(code); // where there is no clipboard (plain http) the code is at least selected
  try { await navigator.clipboard.writeText(code.textContent); } catch { document.execCommand("copy"); }
  const label = button.dataset.label ??= button.textContent;
  button.textContent = copied;
  clearTimeout(button.resets);
  button.resets = setTimeout(() => { button.textContent = label; }, COPIED_MS);
}
