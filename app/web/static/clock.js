// The time limit and the minimum time of a screen. The server enforces them; this only displays them.

import { $ } from "./forms.js";
import { setText } from "./patch.js";
import { WORDS } from "./words.js";

const HOUR_S = 3600; // what ends later is not on anybody's mind: no clock runs
const LATE_MS = 2200; // the server lets a click of the last moment arrive
let times = {};
let timer = null;
let warned = false;
let told = ""; // what is told now, so that a part painted anew tells it again

// `given` has milliseconds from now; `near` is called when the end is announced, `over` when the time is up, and `changed`
// when the screen may be left.
export function keepTime(given, { near, over, changed }) {
  const from = performance.now();
  const at = (ms) => (ms === null ? null : from + ms);
  times = { opens: at(given.opens_ms), warns: at(given.warns_ms), ends: at(given.ends_ms), more: given.more };
  clearInterval(timer);
  warned = false;
  told = "";
  const tick = () => {
    const now = performance.now();
    tell(now, near);
    if (times.opens !== null) changed();
    if (times.opens !== null && now >= times.opens) times.opens = null;
    if (times.ends !== null && now >= times.ends) {
      times.ends = null;
      over(LATE_MS);
    }
    if (times.opens === null && times.ends === null) clearInterval(timer);
  };
  if (times.opens !== null || times.ends !== null) timer = setInterval(tick, 500);
  tick();
}

// Seconds until the screen can be left; 0 if it can be left now.
export const wait = () => (times.opens === null || times.opens === undefined ? 0
  : Math.max(0, Math.ceil((times.opens - performance.now()) / 1000)));

// Milliseconds until the time is up; 0 if there is no limit.
export const left = () => (times.ends ? Math.max(0, times.ends - performance.now()) : 0);

function tell(now, near) {
  const clock = $("#clock"), alarm = $("#alarm");
  if (!clock || !alarm) return;
  const left = times.ends === null ? null : Math.max(0, Math.ceil((times.ends - now) / 1000));
  const text = left === null || left > HOUR_S ? "" : WORDS.left.replace("{time}", `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`);
  setText(clock, text);
  const soon = left !== null && now >= times.warns;
  clock.classList.toggle("soon", soon);
  if (soon && !warned) {
    told = WORDS.soon.replace("{seconds}", left);
    near();
  }
  warned ||= soon;
  setText($("span", alarm), told);
  $("button", alarm).hidden = !(soon && times.more);
}
