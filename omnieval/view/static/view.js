"use strict";
// j and k go to the next and the previous sample or page; typing in a field stays typing.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  const way = { j: "next", k: "prev" }[event.key];
  const link = way && document.querySelector(`a[rel=${way}]`);
  if (link) location.assign(link.href);
});
// A line in a sound's outline shows where it plays; a press goes there.
for (const wave of document.querySelectorAll(".wave")) {
  const sound = wave.parentElement.querySelector("audio");
  sound.addEventListener("timeupdate", () => {
    wave.style.setProperty("--at", `${(100 * sound.currentTime) / sound.duration}%`);
  });
  wave.addEventListener("click", (event) => {
    const box = wave.getBoundingClientRect();
    if (sound.duration) sound.currentTime = (sound.duration * (event.clientX - box.left)) / box.width;
  });
}
// One sound at a time.
document.addEventListener("play", (event) => {
  for (const other of document.querySelectorAll("audio, video")) if (other !== event.target) other.pause();
}, true);
