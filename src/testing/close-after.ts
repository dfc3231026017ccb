/**
 * Closes something when a test ends; where there is no `await using` yet, as on Node 22.
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
