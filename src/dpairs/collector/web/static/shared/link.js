/** Where people take part: at the address that the collector knows of itself, or else at this page's. */

export function linkOf(study) {
  return study.link.startsWith("http") ? study.link : location.origin + study.link;
}
