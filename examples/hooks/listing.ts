import type { ListingReader, Plugin } from 'tapgate/plugin'

// #region listing
/** Shortens long tool names for one client. */
export const shortNames: Plugin<{ client: string; longest: number }> = {
  name: 'short-names',
  setup({ options: { client, longest }, hooks }) {
    const readers = (reader: ListingReader) => (reader.client.name === client ? 'short' : '')
    hooks.listing.tap({ readers }, (shown, reader) => {
      if (reader.kind !== 'tools' || readers(reader) === '') return undefined
      return shown.map(entry =>
        entry.exposed.length <= longest ? entry : { ...entry, exposed: entry.exposed.slice(0, longest) },
      )
    })
  },
}
// #endregion listing

// #region choices
/** Shortens descriptions to their first sentence for clients at `/mcp?texts=short`. */
export const shortTexts: Plugin = {
  name: 'short-texts',
  setup({ hooks }) {
    hooks.listing.tap({ readers: ({ choices }) => choices?.texts ?? '' }, (shown, { choices }) => {
      if (choices?.texts !== 'short') return undefined
      return shown.map(entry => {
        const [first = ''] = String(entry.value.description ?? '').split('. ', 1)
        return { ...entry, value: { ...entry.value, description: first } }
      })
    })
  },
}
// #endregion choices
