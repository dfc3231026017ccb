/** Bytes of an entry of the directory. */
export const MOST_ENTRY = 16 * 1024
/** Bytes of any other value. */
export const MOST_VALUE = 1024 * 1024

/**
 * The beginning of a script that reads texts. Redis has what somebody else writes there, too: a text that is longer than any of ours
 * is as good as not there, and is not sent, as a value of 512 MB would fill the memory of whoever reads it.
 */
export const SHORT = `local function short(v,most) if v and #v>most then return false end return v end
`
