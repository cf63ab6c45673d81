// The place in the page's address, and what happens when the login has ended. All else is Gradio's own.

const FIELDS = ["study", "tab", "session"];
const UNAUTHORISED = 401;

window.parleyConsole = {
  place() {
    const query = new URLSearchParams(location.search);
    return FIELDS.map((name) => query.get(name) ?? "");
  },
  keep(...values) {
    const query = new URLSearchParams();
    FIELDS.forEach((name, i) => { if (values[i]) query.set(name, values[i]); });
    history.replaceState(null, "", query.size ? `?${query}` : "/");
  },
};

const ask = window.fetch;
window.fetch = async (...request) => {
  const answer = await ask(...request);
  if (answer.status === UNAUTHORISED) location.reload();
  return answer;
};
