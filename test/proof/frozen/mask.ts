const MESSAGE = /(?=HTTP\/1\.1 \d{3} |(?:GET|POST|DELETE) \/\S* HTTP\/1\.1\r\n)/
const EVENT = /(?<=\n\n)/

/**
 * Takes what was written to a socket apart into heads with bodies and events, with everything masked that differs from
 * run to run: ports, ids that are random or counted by the gateway, the time, ages, and how a body was cut into chunks.
 */
export function messagesIn(chunks: readonly Buffer[]): string[] {
  return Buffer.concat(chunks).toString('latin1').split(MESSAGE).flatMap(masked)
}

const MASKS: readonly (readonly [RegExp, string])[] = [
  [/(127\.0\.0\.1|localhost):\d+/g, '$1:PORT'],
  [/^(date|mcp-session-id): .*$/gim, '$1: MASKED'],
  [/^id: \S+$/gm, 'id: EVENT'],
  [/^(?:\r\n)?[\da-f]+\r\n(?=event:|data:|id:|:|\{|\r\n)/gm, ''],
  [/\r\n$/g, ''],
  [/"nextCursor":"[^"]+"/g, '"nextCursor":"CURSOR"'],
  [/"cursor":"[^"]+"/g, '"cursor":"CURSOR"'],
  [/"ttlMs":(?!\d*000\b|0\b)\d+/g, '"ttlMs":LEFT'],
  [/"(ageMs|retryAfterMs)":\d+/g, '"$1":TIME'],
  [/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'UUID'],
]

// Clients of the test kit close their connections; the gateway keeps those to servers, where the ids are its own.
const TO_SERVER = /^connection: keep-alive$/im
const OWN_IDS: readonly (readonly [RegExp, string])[] = [[/"(id|requestId|progressToken)":\d+/g, '"$1":ID']]

function masked(message: string): string[] {
  const masks = TO_SERVER.test(message) ? [...MASKS, ...OWN_IDS] : MASKS
  const text = masks.reduce((text, [what, as]) => text.replace(what, as), message)
  const isSame = bodyOf(text) === bodyOf(message)
  return (isSame ? text : text.replace(/^content-length: \d+$/im, 'content-length: MASKED')).split(EVENT)
}

function bodyOf(message: string): string {
  return message.slice(message.indexOf('\r\n\r\n'))
}
