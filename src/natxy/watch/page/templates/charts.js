// SPDX-License-Identifier: Apache-2.0
// Draws the charts of the page by Vega, which is bundled with this.
const drawing = {};
const drawn = {};

async function draw(name, spec) {
  const figure = document.getElementById(name);
  // A chart that is gone leaves its place, so that the page does not jump.
  figure.style.visibility = spec ? "visible" : "hidden";
  if (!spec) return;
  figure.hidden = false;
  // `ast`: the page's policy does not allow text to be evaluated.
  const options = { renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const view = await vegaEmbed(figure.querySelector("div"), { ...spec, width: "container" }, options);
  drawn[name]?.finalize();
  drawn[name] = view;
}

// A chart is drawn when the one before it is; of several that came meanwhile, the last.
window.drawLater = function (name, spec) {
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
};

for (const [name, spec] of Object.entries(window.waiting)) window.drawLater(name, spec);
