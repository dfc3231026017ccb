import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { PinnedKind } from './definition.ts'
import { extractDefinition, hashValue, getDefinitionName, PINNED } from './definition.ts'
import { listDifferences, hasMixedWord, countInvisible } from './suspicious-text.ts'
import type { Pin, UpstreamPins } from './lock-file.ts'

/** Descriptions above this length in characters are reported. */
const MAX_UNREMARKED_LENGTH = 4096

/** Patterns that suggest prompt injection. They only inform the reviewer. */
const SIGNS: readonly (readonly [says: string, sign: RegExp])[] = [
  [
    'refers to the instructions of the model',
    /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|other|all)\b.{0,40}\b(?:instruction|rule|tool|prompt)/is,
  ],
  [
    'asks to hide something from the user',
    /\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|mention|inform|show|reveal|notify)\w*\b.{0,20}\b(?:user|human|anyone)/is,
  ],
  ['contains a tag like those in prompts', /<\s*\/?\s*(?:important|system|secret|instructions?|assistant|hidden)\s*>/i],
  [
    'asks to be used before or instead of other tools',
    /\b(?:before|instead of)\b.{0,20}\b(?:any|every|all|other)\b.{0,20}\btools?\b/is,
  ],
  ['refers to files with secrets', /~\/\.ssh|\bid_(?:rsa|ed25519)\b|\.aws\/credentials|\.netrc\b|\bmcp\.json\b/i],
  ['contains encoded text', /[A-Za-z0-9+/]{160}/],
]

/** Lists remarks for the reviewer of a definition or of instructions. */
function listFindings(accepted: JsonObject | string): string[] {
  const texts = collectTexts(accepted)
  const all = texts.join('\n')
  const unseen = countInvisible(all)
  return [
    ...(unseen === 0 ? [] : [`contains ${unseen} invisible characters, shown as \\u…`]),
    ...(hasMixedWord(all) ? ['mixes look-alike letters of several alphabets'] : []),
    ...SIGNS.filter(([, sign]) => sign.test(all)).map(([message]) => message),
    ...(texts.some(text => text.length > MAX_UNREMARKED_LENGTH)
      ? [`has a text of more than ${MAX_UNREMARKED_LENGTH} characters`]
      : []),
  ]
}

/** Lists remarks about hints that became less safe. */
function listChangeFindings(before: JsonObject, now: JsonObject): string[] {
  const [old, young] = [readHints(before), readHints(now)]
  return [
    ...(old.readOnlyHint && !young.readOnlyHint ? ['is no longer marked as read-only'] : []),
    ...(!old.destructiveHint && young.destructiveHint ? ['may now be destructive'] : []),
    ...(!old.openWorldHint && young.openWorldHint ? ['may now access external systems'] : []),
  ]
}

/** Reads hints with the protocol's defaults. */
function readHints({ annotations }: JsonObject): Record<'readOnlyHint' | 'destructiveHint' | 'openWorldHint', boolean> {
  const hints = isObject(annotations) ? annotations : {}
  const readOnlyHint = hints.readOnlyHint === true
  return {
    readOnlyHint,
    destructiveHint: !readOnlyHint && hints.destructiveHint !== false,
    openWorldHint: hints.openWorldHint !== false,
  }
}

function collectTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(collectTexts)
  return isObject(value) ? Object.entries(value).flatMap(([key, member]) => [key, ...collectTexts(member)]) : []
}

/** A difference from the lock. */
export interface PinChange {
  readonly what: PinnedKind | 'instructions'
  readonly name: string
  readonly status: 'new' | 'changed' | 'gone'
  /** Lines that describe the difference. */
  readonly lines: readonly string[]
  /** Remarks for the reviewer. */
  readonly findings: readonly string[]
}

/** Pins an upstream's current description. Of duplicate names the first is used, as by clients. */
export function createPins(described: JsonObject): UpstreamPins {
  const lists = isObject(described.lists) ? described.lists : {}
  const kinds = PINNED.map(kind => [kind, pinDefinitions(lists[kind], kind)] as const)
  const { instructions } = described
  return {
    ...(typeof instructions === 'string' ? { instructions: createPin(instructions) } : {}),
    definitions: Object.fromEntries(kinds) as unknown as UpstreamPins['definitions'],
  }
}

function pinDefinitions(list: unknown, kind: PinnedKind): Map<string, Pin<JsonObject>> {
  const pins = new Map<string, Pin<JsonObject>>()
  for (const value of Array.isArray(list) ? (list as unknown[]) : []) {
    if (!isObject(value) || pins.has(getDefinitionName(kind, value))) continue
    pins.set(getDefinitionName(kind, value), createPin(extractDefinition(kind, value)))
  }
  return pins
}

function createPin<T>(accepted: T): Pin<T> {
  return { hash: hashValue(accepted), accepted }
}

const NO_PINS: UpstreamPins = {
  definitions: { tools: new Map(), prompts: new Map(), resourceTemplates: new Map() },
}

/** Compares with the lock, in order: instructions, then each kind by name. */
export function comparePins(accepted: UpstreamPins | undefined, now: UpstreamPins): PinChange[] {
  const before = accepted ?? NO_PINS
  return [
    ...compareInstructions(before.instructions, now.instructions, accepted !== undefined),
    ...PINNED.flatMap(kind => compareDefinitions(kind, before.definitions[kind], now.definitions[kind])),
  ]
}

/** Instructions added to an upstream that was accepted without any are a change. */
function compareInstructions(
  before: Pin<string> | undefined,
  now: Pin<string> | undefined,
  isKnown: boolean,
): PinChange[] {
  if (before?.hash === now?.hash) return []
  const status = now === undefined ? 'gone' : isKnown ? 'changed' : 'new'
  const [old, young] = [before?.accepted ?? '', now?.accepted ?? '']
  // The trailing line feeds force a line diff.
  const lines = listDifferences({ text: `${old}\n` }, { text: `${young}\n` })
  return [{ what: 'instructions', name: 'instructions', status, lines, findings: listFindings(young) }]
}

function compareDefinitions(
  kind: PinnedKind,
  before: ReadonlyMap<string, Pin<JsonObject>>,
  now: ReadonlyMap<string, Pin<JsonObject>>,
): PinChange[] {
  const names = [...new Set([...before.keys(), ...now.keys()])].sort()
  return names.flatMap((name): PinChange[] => {
    const [old, young] = [before.get(name), now.get(name)]
    if (old?.hash === young?.hash) return []
    if (young === undefined) return [{ what: kind, name, status: 'gone', lines: [], findings: [] }]
    const findings = listFindings(young.accepted)
    if (old === undefined)
      return [{ what: kind, name, status: 'new', lines: listDifferences({}, young.accepted), findings }]
    const lines = listDifferences(old.accepted, young.accepted)
    const onChange = listChangeFindings(old.accepted, young.accepted)
    return [{ what: kind, name, status: 'changed', lines, findings: [...onChange, ...findings] }]
  })
}

/** Adds new pins; changed definitions stay as accepted. */
export function addNewPins(accepted: UpstreamPins | undefined, now: UpstreamPins): UpstreamPins {
  if (accepted === undefined) return now
  const kinds = PINNED.map(kind => [kind, new Map([...now.definitions[kind], ...accepted.definitions[kind]])] as const)
  return {
    ...accepted,
    definitions: Object.fromEntries(kinds) as unknown as UpstreamPins['definitions'],
  }
}

/** Drops pins that the server no longer offers. */
export function dropMissingPins(accepted: UpstreamPins, now: UpstreamPins): UpstreamPins {
  const kinds = PINNED.map(kind => {
    const retained = [...accepted.definitions[kind]].filter(([name]) => now.definitions[kind].has(name))
    return [kind, new Map(retained)] as const
  })
  return { ...accepted, definitions: Object.fromEntries(kinds) as unknown as UpstreamPins['definitions'] }
}

/** Hashes an upstream's whole description, so that the reviewer accepts exactly that state. */
export function hashPins({ instructions, definitions }: UpstreamPins): string {
  const kinds = PINNED.map(kind => {
    const hashes = [...definitions[kind]].map(([name, { hash }]) => [name, hash] as const)
    return [kind, Object.fromEntries(hashes)] as const
  })
  return hashValue({
    instructions: instructions?.hash ?? null,
    ...Object.fromEntries(kinds),
  })
}
