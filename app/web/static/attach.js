// Pictures for the next message: chosen with a button, dropped on the page, or pasted into the message box. The server
// has each as soon as a message can be written, and says which are attached.

import { $, $$ } from "./forms.js";
import { WORDS } from "./words.js";

const button = () => $("#side [data-attach]");
const isPicture = ({ type }) => type.startsWith("image/");
const holdsFiles = ({ dataTransfer }) => Boolean($("#side .attach")) && dataTransfer?.types.includes("Files");

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
const tooLarge = (size, most) => WORDS.heavier.replace("{size}", megabytes(size)).replace("{most}", megabytes(most));

export const attached = () => $$("#side .attach li").length;

// `send` uploads a file from a button and returns whether it was accepted; `note` says a sentence on the page. Gives what
// attaches the pictures that came while a reply was written, and what forgets them with their screen.
export function takePictures(send, note) {
  let held = [];

  async function take(files) {
    for (const [at, file] of files.entries()) {
      const from = button();
      if (from?.disabled) {
        held.push(...files.slice(at));
        return note(WORDS.held);
      }
      if (!from) return note(WORDS.full, null, { fades: true });
      if (file.size > from.dataset.most) return note(tooLarge(file.size, from.dataset.most), null, { fades: true });
      note(WORDS.attaching);
      if (!(await send(file, from))) return;
    }
  }

  const chooser = Object.assign(document.createElement("input"), { type: "file", multiple: true, hidden: true });
  chooser.accept = "image/png,image/jpeg,image/gif,image/webp";
  chooser.addEventListener("change", () => { take([...chooser.files]); chooser.value = ""; });
  document.body.append(chooser); // some browsers open none that is not on the page
  document.addEventListener("click", ({ target }) => target.closest("[data-attach]") && chooser.click());
  document.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files].filter(isPicture);
    const text = event.clipboardData.types.includes("text/plain"); // of a word processor, beside a picture of it
    if (event.defaultPrevented || !files.length || text || !$("#side .attach") || !event.target.closest("#box")) return;
    event.preventDefault();
    take(files);
  });
  document.addEventListener("dragover", (event) => holdsFiles(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (event.defaultPrevented || !holdsFiles(event)) return;
    event.preventDefault(); // else the browser would leave the page to show it
    take([...event.dataTransfer.files]);
  });
  return { attach: () => held.length && take(held.splice(0)), forget: () => (held = []) };
}
