// SPDX-License-Identifier: Apache-2.0
// Puts the live chart in the place of each still picture, once it comes near the window.
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

const nearby = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        nearby.unobserve(target);
        enliven(target);
      }
    }
  },
  { rootMargin: "800px" },
);
document.querySelectorAll("[data-chart]").forEach((place) => nearby.observe(place));
