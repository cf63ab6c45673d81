// What the page itself says, in English; the first painting brings it in the session's language. The server reads this
// file as well: one word a line, in double quotes.

export const WORDS = {
  connecting: "There is no answer from the study yet. We are trying again. Nothing is lost.",
  offline: "There is no connection at the moment. We keep trying. Please keep this page open.",
  broken: "Something went wrong on our side. Your answers are saved. Please reload this page.",
  long: "Your text is too long to send. Please shorten it. Nothing is lost.",
  nocopy: "This text cannot be copied. The study asks you to work on it here.",
  blank: "Please write a message first.",
  held: "The picture is kept for your next message.",
  attaching: "The picture is being attached…",
  attached: "The picture is attached.",
  detached: "The picture is removed.",
  heavy: "This file is too large.",
  heavier: "This file is too large: it has {size} MB, and at most {most} MB are possible.",
  full: "No more pictures can be attached now. Send or remove one first.",
  waits: "Please wait for the reply, or stop it.",
  first: "Please answer the question about the reply first.",
  firsts: "Please answer the questions about the reply first.",
  unsent: "You have written a message that is not sent. Send it, or press the button again to continue without it.",
  late: "The reply is taking longer than usual. Your message is saved.",
  link: "This page can only be opened with your study link. Open the link again, and you will continue where you left off.",
  missing: "Unanswered questions: {count}",
  mended: "Answers to be changed: {count}",
  unanswered: "Please answer this question.",
  tick: "Please tick the box to continue.",
  slider: "Please choose a position on the scale.",
  busy: "Saving…",
  saved: "Draft saved",
  room: "Characters left: {count}",
  excess: "Characters too many: {count}",
  copied: "Copied",
  wait: "You can continue in {seconds} s.",
  left: "Time left: {time}",
  soon: "You have {seconds} seconds left on this page.",
  nopaste: "Pasting is turned off here. Please type your text.",
  idle: "Are you still there?",
  here: "Yes, I am here",
  again: "Try again",
  elsewhere: "You have gone on in another tab of this browser.",
  takeOver: "Go on here",
  reopen: "Please open your study link",
  writing: "Writing…",
  preview: "Preview",
  edit: "Edit",
  question: "Question",
  task: "Your task",
  answer: "Answer",
  help: "Help",
  ask: "What do you need help with? Please write nothing that names you.",
  received: "Your message was received. The answer will appear here.",
  answered: "Your request for help was answered. Press “Help” to read the answer.",
  you: "You",
  researcher: "Researcher",
  send: "Send",
  close: "Close",
  stored: "Saved",
  unsaved: "Not saved yet",
  count: "Words: {count}",
  least: "Words: {count} of at least {least}",
  modelChanged: "The assistant changed the text.",
  bothChanged: "Somebody else changed the same place. Your words were kept.",
  modelToo: "The assistant changed the same place. Your words were kept.",
  undone: "The change was taken back.",
  othersUsed: "The other words are used now.",
  undo: "Undo",
  redo: "Redo",
  bringBack: "Use the other words",
  document: "Document",
  changed: "Changed",
};

// The words that only the style sheet puts on the page.
const STYLED = ["preview"];

let language = ""; // the session's; the page's own attribute is changed by a browser's translation

// What is asked of the server in; before there is a session, the browser's.
export const spoken = () => language || navigator.languages.join();

export function speak({ words, lang, dir }) {
  Object.assign(WORDS, words);
  if (lang !== language) Object.assign(document.documentElement, { lang, dir });
  language = lang;
  for (const name of STYLED) document.documentElement.style.setProperty(`--word-${name}`, JSON.stringify(WORDS[name]));
}
