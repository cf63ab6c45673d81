// Copies the code beside a button, or the text that the button names, and confirms it on the button.

export async function copy(button, copied) {
  const code = document.getElementById(button.dataset.copy) ?? button.parentElement.querySelector("code");
  getSelection().selectAllChildren(code); // where there is no clipboard (plain http) the code is at least selected
  try { await navigator.clipboard.writeText(code.textContent); } catch { document.execCommand("copy"); }
  button.textContent = copied;
}
