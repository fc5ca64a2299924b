// SPDX-License-Identifier: Apache-2.0
// Shows what the server sends, and connects again when the server was gone.
const connection = document.getElementById("connection");
const AGAIN_MS = 2000;
const drawing = {};
const drawn = {};

function told(text, kind) {
  connection.textContent = text;
  connection.className = kind;
}

function showState(html) {
  // The server has escaped every text of the run, and the page's policy forbids scripts within it.
  document.getElementById("state").innerHTML = html;
}

function showLog(text) {
  const log = document.getElementById("log");
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = text;
  log.hidden = !text;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

async function draw(name, spec) {
  const figure = document.getElementById(name);
  figure.hidden = !spec;
  if (!spec) return;
  // `ast`: the page's policy does not allow text to be evaluated.
  const options = { renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const view = await vegaEmbed(figure.querySelector("div"), { ...spec, width: "container" }, options);
  drawn[name]?.finalize();
  drawn[name] = view;
}

// A chart is drawn when the one before it is; of several that came meanwhile, the last.
function drawLater(name, spec) {
  const waiting = name in drawing;
  drawing[name] = spec;
  if (waiting) return;
  (async () => {
    while (drawing[name] !== undefined) {
      const latest = drawing[name];
      drawing[name] = undefined;
      await draw(name, latest).catch(console.error);
    }
    delete drawing[name];
  })();
}

function connect() {
  const source = new EventSource("events");
  source.onopen = () => told("live", "good");
  source.onerror = () => {
    told("the server of this page does not answer; trying again", "lost");
    // A browser gives up after some errors.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS);
  };
  source.addEventListener("state", (message) => showState(JSON.parse(message.data)));
  source.addEventListener("log", (message) => showLog(JSON.parse(message.data)));
  for (const name of ["search", "course"]) {
    source.addEventListener(name, (message) => drawLater(name, JSON.parse(message.data)));
  }
}

connect();
