"use strict";
// j and k go to the next and the previous sample or page; typing in a field stays typing.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  const way = { j: "next", k: "prev" }[event.key];
  const link = way && document.querySelector(`a[rel=${way}]`);
  if (link) location.assign(link.href);
});
