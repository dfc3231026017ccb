/**
 * Closes something when a test ends. The one style of this project's tests, as it runs on Node 22, too, which has no `await using`.
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
