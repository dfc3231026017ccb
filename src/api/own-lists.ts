/** Connections of this process that were found to have lists of their own, of whichever upstream. */
let count = 0

/** Notes one more; no two of them have one number. */
export function noteOwnLists(): number {
  return ++count
}

/** False while there has been none: then nobody need look for any, of which each call would have to ask every upstream. */
export function mayBeOwnLists(): boolean {
  return count > 0
}
