import type { Page } from 'playwright-core'
import type { ControlClient } from '../../../src/control/client.ts'
import { open } from '../../unit/plugins/ui/setting.ts'

/** Somebody who has the calls before them, or looks away. */
export interface Looker {
  look(): Promise<void>
  leave(): Promise<void>
}

/** A person before real Chromium. */
export function inChromium(page: Page): Looker {
  const address = page.url().replace(/#.*$/, '#/calls')
  return {
    async look() {
      await page.goto(address)
      await page.locator('.live', { hasText: /^live$/ }).waitFor()
      await page.locator('tbody tr').first().waitFor()
    },
    leave: async () => void (await page.goto('about:blank')),
  }
}

/** One question of the page of calls, with as many new calls as it shows. */
export async function asking(control: ControlClient): Promise<() => Promise<void>> {
  const opened = await open(String((await control.request('ui.link')).url))
  const { newest } = (await opened.json('calls?limit=1')) as { newest: number }
  return async () => void (await opened.json(`calls?limit=50&after=${newest}`))
}

/** Time that the page waits after an event before it asks. */
const THROTTLE_MS = 500

/** Asks what the page of calls asks, and draws nothing: the browser's own work slows whatever shares its cores. */
export async function withoutScreen(control: ControlClient): Promise<Looker> {
  const opened = await open(String((await control.request('ui.link')).url))
  let stop: (() => Promise<void>) | undefined
  const leave = async (): Promise<void> => {
    await stop?.()
    stop = undefined
  }
  return {
    leave,
    async look() {
      await leave()
      const over = new AbortController()
      const events = await opened.ask('events', { signal: over.signal })
      let { newest } = (await opened.json('calls?limit=50')) as { newest: number }
      const asking = { is: false }
      const asked = async (): Promise<void> => {
        asking.is = true
        await new Promise(resolve => setTimeout(resolve, THROTTLE_MS))
        if (!over.signal.aborted)
          ({ newest } = (await opened.json(`calls?limit=50&after=${newest}`)) as { newest: number })
        asking.is = false
      }
      const heard = (async () => {
        for await (const piece of events.body ?? [])
          if (Buffer.from(piece).includes('"type":"call"') && !asking.is) void asked()
      })().catch(() => undefined)
      stop = () => {
        over.abort()
        return heard
      }
    },
  }
}
