// SPDX-License-Identifier: Apache-2.0
// Replaces each visible still picture by a live chart, and the others when they are unfolded.
const specs = JSON.parse(document.getElementById("chart-specs").textContent);

async function enliven(holder) {
  const still = [...holder.childNodes];
  const live = document.createElement("div");
  holder.replaceChildren(live);
  try {
    // `ast`: the page's policy does not allow text to be evaluated.
    const options = { renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
    await vegaEmbed(live, { ...specs[holder.dataset.chart], width: "container" }, options);
    holder.classList.add("live");
  } catch (error) {
    holder.replaceChildren(...still);
    console.error(error);
  }
}

async function enlivenAll() {
  for (const holder of document.querySelectorAll(".chart:not(.live)")) {
    if (!holder.closest("details:not([open])")) await enliven(holder);
  }
}

// Charts are drawn one after the other, so that the page stays responsive.
let done = enlivenAll();
document.addEventListener("toggle", () => (done = done.then(enlivenAll)), true);
