/**
 * Closes a resource when the test ends. Also works on Node 22, which lacks `await using`.
 *
 * ```ts
 * test('…', async t => {
 *   const web = closeAfter(t, await testUpstream())
 * })
 * ```
 */
export function closeAfter<T extends AsyncDisposable>(
  test: { after(close: () => Promise<void>): void },
  resource: T,
): T {
  test.after(() => Promise.resolve(resource[Symbol.asyncDispose]()))
  return resource
}
