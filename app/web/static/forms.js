// Forms as the server renders them: reading answers, checking that they are complete, and showing errors.

export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

export function valuesOf(form) {
  const values = {};
  for (const [name, value] of new FormData(form)) {
    const many = $(`fieldset[data-control=checkbox] [name="${CSS.escape(name)}"]`, form);
    values[name] = many ? [...(values[name] ?? []), value] : value;
  }
  return values;
}

export function complete(form) {
  const chosen = (set) => $("input:checked", set);
  return ![...form.elements].some((field) => field.validity?.valueMissing || (field.required && !field.value.trim()))
    && $$("fieldset[data-required][data-control=checkbox]", form).every(chosen);
}

// A slider has no answer until the participant has set its handle, even if only to its initial position.
const slid = (event) => {
  const line = event.target;
  if (line.type !== "range" || (event.type === "pointerup" && !("untouched" in line.dataset))) return;
  const kept = $("[type=hidden]", line.parentElement);
  kept.value = $("output", line.parentElement).value = line.value;
  delete line.dataset.untouched;
  line.removeAttribute("aria-valuetext");
  if (event.type === "pointerup") line.dispatchEvent(new Event("input", { bubbles: true }));
};
for (const kind of ["input", "pointerup"]) document.addEventListener(kind, slid, true);

export function showFaults(found) {
  for (const line of $$(".fault")) line.hidden = true;
  for (const control of $$("[aria-invalid]")) control.removeAttribute("aria-invalid");
  let first = null;
  for (const [name, text] of Object.entries(found ?? {})) {
    const field = $(`[data-field="${CSS.escape(name)}"]`);
    const line = field && $(".fault", field);
    if (!line) continue;
    line.textContent = text;
    line.hidden = false;
    for (const control of $$("input, textarea", field)) {
      control.setAttribute("aria-invalid", "true");
      control.setAttribute("aria-describedby", [line.id, $(".help", field)?.id].filter(Boolean).join(" "));
      first ??= control;
    }
  }
  first?.focus();
}
