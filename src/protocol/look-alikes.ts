/** Members of `params` by which a request is judged, routed or taken up again, and those of a reference. */
const NAMES = [
  'name',
  'arguments',
  '_meta',
  'uri',
  'ref',
  'type',
  'argument',
  'cursor',
  'task',
  'taskId',
  'requestState',
  'inputResponses',
]

const EXACT = new Set(NAMES)
const FOLDED = new Map(NAMES.map(name => [folded(name), name]))

/**
 * Finds the member that readers which fold case, as Go's do, take this name for; undefined where it is written as it is,
 * or is no member that counts.
 */
export function lookAlike(name: string): string | undefined {
  return EXACT.has(name) ? undefined : FOLDED.get(folded(name))
}

/** Gives names that fold to the same one text: the long s is an s, the Kelvin sign a k. */
function folded(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}
