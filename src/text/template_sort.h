// template sort: a stable merge sort that stays inside its arrays whatever the comparison says (NaN has no order).
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

namespace tmpl {

template <class T, class Less> void stable_sort(std::vector<T>& items, Less less) {
  std::vector<T> merged(items.size());
  for (size_t width = 1; width < items.size(); width *= 2) {
    for (size_t start = 0; start < items.size(); start += 2 * width) {
      const size_t middle = std::min(start + width, items.size()), end = std::min(start + 2 * width, items.size());
      size_t left = start, right = middle;
      for (size_t k = start; k < end; k++) {
        const bool take_right = left == middle || (right < end && less(items[right], items[left]));
        merged[k] = std::move(items[take_right ? right++ : left++]);
      }
    }
    std::swap(items, merged);
  }
}

}  // namespace tmpl
