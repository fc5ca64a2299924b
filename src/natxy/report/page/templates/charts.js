// SPDX-License-Identifier: Apache-2.0
// Puts the live chart in the place of each still picture that can be seen, and of others once they are unfolded.
const specs = JSON.parse(document.getElementById("chart-specs").textContent);

async function enliven(place) {
  const still = [...place.childNodes];
  const live = document.createElement("div");
  place.replaceChildren(live);
  try {
    // `ast`: the page's policy lets no text become code.
    const options = { renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
    await vegaEmbed(live, { ...specs[place.dataset.chart], width: "container" }, options);
    place.classList.add("live");
  } catch (error) {
    place.replaceChildren(...still);
    console.error(error);
  }
}

async function enlivenAll() {
  for (const place of document.querySelectorAll(".chart:not(.live)")) {
    if (!place.closest("details:not([open])")) await enliven(place);
  }
}

// One after the other: the page stays responsive in between.
let done = enlivenAll();
document.addEventListener("toggle", () => (done = done.then(enlivenAll)), true);
