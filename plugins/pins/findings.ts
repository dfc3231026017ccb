import { isObject, type JsonObject } from '../../src/plugin.ts'
import { hasMixedWord, unseenIn } from './text.ts'

/** Longest description that nobody wonders about. */
const LONG = 4096

/** Signs that a text wants more of its reader than to be understood. They advise; nothing is decided by them. */
const SIGNS: readonly (readonly [says: string, sign: RegExp])[] = [
  [
    'speaks to the model about its instructions',
    /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|other|all)\b.{0,40}\b(?:instruction|rule|tool|prompt)/is,
  ],
  [
    'wants something kept from the user',
    /\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|mention|inform|show|reveal|notify)\w*\b.{0,20}\b(?:user|human|anyone)/is,
  ],
  ['has a tag as of a prompt', /<\s*\/?\s*(?:important|system|secret|instructions?|assistant|hidden)\s*>/i],
  [
    'wants to be used before or instead of other tools',
    /\b(?:before|instead of)\b.{0,20}\b(?:any|every|all|other)\b.{0,20}\btools?\b/is,
  ],
  ['names places of secrets', /~\/\.ssh|\bid_(?:rsa|ed25519)\b|\.aws\/credentials|\.netrc\b|\bmcp\.json\b/i],
  ['holds text in an encoding', /[A-Za-z0-9+/]{160}/],
]

/** Remarks on a definition or on instructions, for whoever reviews them. */
export function findingsIn(accepted: JsonObject | string): string[] {
  const texts = textsIn(accepted)
  const all = texts.join('\n')
  const unseen = unseenIn(all)
  return [
    ...(unseen === 0 ? [] : [`holds ${unseen} characters that nobody sees, shown as \\u…`]),
    ...(hasMixedWord(all) ? ['mixes letters of alphabets that look alike'] : []),
    ...SIGNS.filter(([, sign]) => sign.test(all)).map(([says]) => says),
    ...(texts.some(text => text.length > LONG) ? [`has a text of more than ${LONG} characters`] : []),
  ]
}

/** Remarks on a change: hints that say of a tool that it is less harmless than it was. */
export function findingsOnChange(before: JsonObject, now: JsonObject): string[] {
  const [old, young] = [hintsOf(before), hintsOf(now)]
  return [
    ...(old.readOnlyHint && !young.readOnlyHint ? ['does no longer say that it only reads'] : []),
    ...(!old.destructiveHint && young.destructiveHint ? ['may destroy something now'] : []),
    ...(!old.openWorldHint && young.openWorldHint ? ['reaches the outside world now'] : []),
  ]
}

/** Hints with the defaults of the protocol. */
function hintsOf({
  annotations,
}: JsonObject): Record<'readOnlyHint' | 'destructiveHint' | 'openWorldHint', boolean> {
  const hints = isObject(annotations) ? annotations : {}
  const readOnlyHint = hints.readOnlyHint === true
  return {
    readOnlyHint,
    destructiveHint: !readOnlyHint && hints.destructiveHint !== false,
    openWorldHint: hints.openWorldHint !== false,
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isObject(value) ? Object.entries(value).flatMap(([key, member]) => [key, ...textsIn(member)]) : []
}
