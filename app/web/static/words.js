// What the page itself says, in English; the first painting brings it in the session's language. The server reads this
// file as well: one word a line, in double quotes.

export const WORDS = {
  connecting: "The connection is slow. Trying again; nothing is lost.",
  offline: "There is no connection at the moment. What you wrote is still here.",
  broken: "Something went wrong on our side. Please reload this page; your answers are saved.",
  long: "This is more than can be sent at once. Please shorten what you wrote; nothing is lost.",
  nocopy: "This text cannot be copied, as the study asks you to work on it here.",
  blank: "Please write a message first.",
  late: "The reply is taking longer than usual. Your message is saved.",
  link: "This page needs your personal link. Please open the link to the study again; you will be where you left.",
  hint: "Please complete the part above to go on.",
  busy: "Saving…",
  saved: "Draft saved",
  copied: "Copied",
  wait: "You can go on in {seconds} s.",
  left: "Time left: {time}",
  soon: "{seconds} seconds are left for this page.",
  nopaste: "Pasting is switched off here, please type.",
  idle: "Are you still there?",
  here: "Yes, I am here",
  again: "Try again",
  back: "Welcome back",
  writing: "Writing…",
  preview: "Preview",
};

// The words that only the style sheet puts on the page.
const STYLED = ["preview"];

export function speak({ words, lang, dir }) {
  Object.assign(WORDS, words);
  Object.assign(document.documentElement, { lang, dir });
  for (const name of STYLED) document.documentElement.style.setProperty(`--word-${name}`, JSON.stringify(WORDS[name]));
}
