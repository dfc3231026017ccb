import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openBrowser } from '../../../src/cli/background/run-program.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const LINK = 'http://127.0.0.1:8080/ui/?a=1&b=%22#token=secret-0123456789'

/** A home with a program in the place of the one that opens browsers, which notes its arguments. */
async function home(
  t: TestContext,
): Promise<{ env: Record<string, string>; pages: string; opened: () => Promise<string> }> {
  const directory = await mkdtemp(join(tmpdir(), 'browser-'))
  // The program of the last link may still write there.
  cleanup(t, () => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const opener = join(directory, 'xdg-open')
  const notes = join(directory, 'notes')
  await writeFile(opener, `#!/bin/sh\nprintf '%s\\n' "$@" > '${notes}.new'\nmv '${notes}.new' '${notes}'\n`)
  await chmod(opener, 0o755)
  const env = {
    HOME: directory,
    PATH: `${directory}:/usr/bin:/bin`,
    DISPLAY: ':9',
  }
  const read = (): Promise<string> => readFile(notes, 'utf8').catch(() => '')
  return {
    env,
    pages: join(directory, 'pages'),
    opened: async () => {
      await until(async () => (await read()) !== '')
      return read()
    },
  }
}

test('a link with a secret is in no argument: the browser gets a file that only its owner can read', async t => {
  const { env, pages, opened } = await home(t)

  assert.equal(openBrowser(LINK, pages, env, 'linux'), true)

  const argument = (await opened()).trim()
  assert.doesNotMatch(argument, /secret|token|\n/)
  const file = fileURLToPath(argument)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const page = await readFile(file, 'utf8')
  assert.ok(page.includes('content="0;url=http://127.0.0.1:8080/ui/?a=1&amp;b=%22#token=secret-0123456789"'))
})

test('the next link replaces the page of the one before', async t => {
  const { env, pages, opened } = await home(t)
  openBrowser(LINK, pages, env, 'linux')
  await opened()

  openBrowser(LINK, pages, env, 'linux')

  assert.equal((await readdir(pages)).length, 1)
})

test('without a display, over SSH, or without a home nothing is opened', async t => {
  const { env, pages } = await home(t)

  assert.equal(openBrowser(LINK, pages, { ...env, DISPLAY: '' }, 'linux'), false)
  assert.equal(openBrowser(LINK, pages, { ...env, SSH_CONNECTION: '1' }, 'linux'), false)
  assert.equal(openBrowser(LINK, undefined, env, 'linux'), false)
  assert.equal(openBrowser('file:///etc/passwd', pages, env, 'linux'), false)
})
