import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { chromium, type Browser } from 'playwright-core'
import { cleanup } from '../../fixtures/cleanup.ts'

const PROGRAM = '/usr/bin/chromium'
const isThere = existsSync(PROGRAM)

/** Why tests in a browser are left out: on a machine of somebody's own only. */
export const skip =
  isThere || process.env.CI !== undefined
    ? false
    : `${PROGRAM} is not installed; apt-get install chromium brings it`

/** Real Chromium, without a screen. */
export async function startChromium(t: TestContext): Promise<Browser> {
  if (!isThere) throw new Error(`${PROGRAM} is not installed`)
  // As root it has no sandbox of its own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await chromium.launch({ executablePath: PROGRAM, args })
  cleanup(t, () => browser.close())
  return browser
}
