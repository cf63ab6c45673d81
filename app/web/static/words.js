// What the page itself says; everything else comes from the study.

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
  wait: "You can go on in {seconds} seconds.",
  left: "Time left: {time}",
  soon: "{seconds} seconds are left for this page.",
  nopaste: "Pasting is switched off here, please type.",
  idle: "Are you still there?",
  here: "Yes, I am here",
};
