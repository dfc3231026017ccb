import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getOwnerProblem, getErrorMessage } from '../../../src/errors/errors.ts'
import { summarizeStderr } from '../../../src/processes/stderr.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { bench, callOf, stdioSpec } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

const NODE = `node:internal/modules/cjs/loader:1433
  throw err;
  ^

Error: Cannot find module '/srv/missing.js'
Require stack:
- /srv/server.js
    at Function._resolveFilename (node:internal/modules/cjs/loader:1430:15)
    at node:internal/main/run_main_module:33:47 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v24.21.0
`
const PYTHON = `Traceback (most recent call last):
  File "/srv/server.py", line 1, in <module>
    import absent
    ^^^^^^^^^^^^^
ModuleNotFoundError: No module named 'absent'
`

describe('what a server said last', () => {
  const cases: [what: string, text: string, expected: string][] = [
    ['is the error of a crash of Node', NODE, "Error: Cannot find module '/srv/missing.js'"],
    ['is the error of a crash of Python', PYTHON, "ModuleNotFoundError: No module named 'absent'"],
    [
      'is a panic',
      "starting\nthread 'main' panicked at src/main.rs:2:5:\nboom\n",
      "thread 'main' panicked at src/main.rs:2:5:",
    ],
    [
      'is the error, with a cause below it',
      'TypeError: fetch failed\n    at x (y:1:2) {\n  [cause]: Error: no host\n}\n',
      'TypeError: fetch failed',
    ],
    ['is the last three lines where none is an error', 'one\ntwo\n\nthree\nfour\n', 'two | three | four'],
  ]
  for (const [what, text, expected] of cases) it(what, () => assert.equal(summarizeStderr(text), expected))
})

describe('a server that cannot be talked to', { concurrency: 2 }, () => {
  it('is said to write what is no JSON, where its handshake does not come', async t => {
    const spec = stdioSpec(['-e', 'console.log("Listening on port 3000"); process.stdin.resume()'], {
      startupTimeout: '1m',
    })
    const clock = new TestClock()
    const { upstream, logs } = await bench(t, spec, { clock })

    const failing = upstream.dispatch(callOf('tools/list')).catch((error: unknown) => error)
    await until(() => logs.length > 0, 'its line was read')
    clock.advance(60_000)
    const failure: unknown = await failing

    assert.match(
      getOwnerProblem(upstream) ?? '',
      /no handshake within 60000 ms: stdout has a line that is not JSON; last message: Listening on port 3000/,
    )
    assert.match(getErrorMessage(failure), /is not JSON$/)
  })
})
