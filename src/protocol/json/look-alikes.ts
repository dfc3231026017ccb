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
const FOLDED = new Map(NAMES.map(name => [fold(name), name]))
const MAX_NAME_LENGTH = Math.max(...NAMES.map(name => name.length))

/**
 * Finds the member that readers which ignore case, as Go's do, take this name for; undefined if it is written as it is,
 * or is no member that counts.
 */
export function lookAlike(name: string): string | undefined {
  return name.length > MAX_NAME_LENGTH || EXACT.has(name) ? undefined : FOLDED.get(fold(name))
}

/** Gives names that fold to the same one text: the long s is an s, the Kelvin sign a k. */
function fold(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}
