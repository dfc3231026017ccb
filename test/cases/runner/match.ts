import assert from 'node:assert/strict'
import { isObject } from '../../../src/protocol/json/json.ts'

/**
 * Asserts that what came is what a transcript says. Objects may have more members than said; null means absent;
 * lists are compared entry by entry; `/…/` is a pattern.
 */
export function assertMatches(actual: unknown, expected: unknown, where: string): void {
  if (expected === null) assert.equal(actual, undefined, `${where} should be absent`)
  else if (Array.isArray(expected)) assertList(actual, expected as unknown[], where)
  else if (isObject(expected)) assertObject(actual, expected, where)
  else if (typeof expected === 'string' && /^\/.*\/$/s.test(expected))
    assert.match(String(actual), new RegExp(expected.slice(1, -1), 's'), where)
  else assert.deepEqual(actual, expected, where)
}

export function matches(actual: unknown, expected: unknown): boolean {
  try {
    assertMatches(actual, expected, '')
    return true
  } catch {
    return false
  }
}

function assertList(actual: unknown, expected: readonly unknown[], where: string): void {
  assert.ok(Array.isArray(actual), `${where} should be a list, and is ${JSON.stringify(actual)}`)
  const list = actual as unknown[]
  assert.equal(list.length, expected.length, `${where} should have ${expected.length} entries: ${JSON.stringify(list)}`)
  expected.forEach((entry, index) => assertMatches(list[index], entry, `${where}[${index}]`))
}

function assertObject(actual: unknown, expected: Readonly<Record<string, unknown>>, where: string): void {
  assert.ok(isObject(actual), `${where} should be an object, and is ${JSON.stringify(actual)}`)
  for (const key of Object.keys(expected))
    assertMatches(Object.hasOwn(actual, key) ? actual[key] : undefined, expected[key], `${where}.${key}`)
}
