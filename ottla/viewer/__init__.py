"""The viewer: what happened in a broker, on a page of HTML. Every page shares these files, and adds data and words.

    page.py       one self-contained page: a policy, the styles, the body, the data, one script
    colours.css   the colours, light and dark; base.css: text, buttons, tables, the stage
    words.js      words, numbers and elements; axis.js: time from left to right
    model.js      events and requests to lanes; spans.js: what lasts in them
    lanes.js      the lanes, on a canvas; marks.js: what an item looks like; stage.js: mouse, keys, tip
    list.js       the list of items; details.js: one item

The trace (`ottla.testing.trace`) shows all of it, the report of rebalances (`ottla.rebalances`) the lanes.
"""
